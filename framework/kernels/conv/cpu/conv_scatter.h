#pragma once
#include "framework/kernels/conv/cpu/conv_direct.h"

/// The gradient of an input of few channels, such as colours. If its channels were the columns of
/// products, they would fill a part of a vector. Here all taps and channels are columns: each
/// result's gradient times the weights is the gradient of its window, which is added to the
/// input's.
namespace learn::cpu {

/// Returns whether that is faster, as measured.
[[nodiscard]] constexpr bool has_few_channels(const ConvGeometry& g) {
  constexpr std::int64_t kFew = 8;
  return g.options.groups == 1 && g.c > 0 && g.c <= kFew && g.r * g.s > 1;
}

decltype(direct_backward_data) scatter_backward_data;
inline constexpr ConvPath kScatterPath{
    direct_forward, scatter_backward_data, direct_backward_weight};

}  // namespace learn::cpu
