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

/// The passes; `bias` and `epilogue` may be null. Weights are not `on.prepared`.
void few_forward(const ConvResources& on,
                 const ConvGeometry& g,
                 const float* x,
                 const float* weight,
                 const float* bias,
                 float* y,
                 const ConvEpilogue* epilogue);
void few_backward_data(const ConvResources& on,
                       const ConvGeometry& g,
                       const float* dy,
                       const float* weight,
                       float* dx,
                       GradMode mode);
void few_backward_weight(const ConvResources& on,
                         const ConvGeometry& g,
                         const float* x,
                         const float* dy,
                         float* dw,
                         GradMode mode);
inline constexpr ConvPath kFewPath{few_forward, few_backward_data, few_backward_weight};

}  // namespace learn::cpu
