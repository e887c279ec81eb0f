#pragma once
#include "framework/kernels/conv/cpu/conv_direct.h"

/// 3x3 convolutions of stride 1 by Winograd's F(4x4,3x3) in f32, with a quarter of the
/// multiplications. The rounding errors are ten to forty times larger than with the plain sum (see
/// tests/autograd/winograd_test.cpp).
namespace learn::cpu {

/// Returns whether the convolution is 3x3 with stride 1, one group and channels in multiples of 16.
[[nodiscard]] bool winograd_applies(const ConvGeometry& g);

/// Computes the forward pass; `bias` and `epilogue` may be null.
void winograd_forward(const ConvResources& on,
                      const ConvGeometry& g,
                      const float* x,
                      const float* weight,
                      const float* bias,
                      float* y,
                      const ConvEpilogue* epilogue);
void winograd_backward_data(const ConvResources& on,
                            const ConvGeometry& g,
                            const float* dy,
                            const float* weight,
                            float* dx,
                            GradMode mode);
void winograd_backward_weight(const ConvResources& on,
                              const ConvGeometry& g,
                              const float* x,
                              const float* dy,
                              float* dw,
                              GradMode mode);

inline constexpr ConvPath kWinogradPath{
    winograd_forward, winograd_backward_data, winograd_backward_weight};

}  // namespace learn::cpu
