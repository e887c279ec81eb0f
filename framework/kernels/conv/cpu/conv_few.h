#pragma once
#include "framework/kernels/conv/cpu/conv_direct.h"

/// Convolutions with few results: of one image with a small map, and linear layers of
/// one to sixteen rows. Packing the weights into panels would take longer than multiplying them, so
/// they are read where they lie, once: as a matrix with a row of taps and channels for each output
/// channel. Its other factor is the windows that the results see.
namespace learn::cpu {

/// Returns whether the results are so few. The input channels must fill one or more vectors.
[[nodiscard]] constexpr bool has_few_results(const ConvGeometry& g) {
  constexpr std::int64_t kFew = 16;
  return g.n * g.p * g.q <= kFew && g.options.groups == 1 && g.c > 0 && g.c % 16 == 0;
}

/// The passes, with operands as in conv_direct.h. Weights are not `on.prepared`.
decltype(direct_forward) few_forward;
decltype(direct_backward_data) few_backward_data;
decltype(direct_backward_weight) few_backward_weight;
inline constexpr ConvPath kFewPath{few_forward, few_backward_data, few_backward_weight};

}  // namespace learn::cpu
