#pragma once
#include "framework/kernels/conv/cpu/conv_direct.h"

/// Convolutions whose groups have few channels, depthwise ones among them, f32. Products over
/// gathered rows (conv_direct.h) would fill only as many columns of a panel as a group has results;
/// here a vector holds the channels of several groups.
namespace learn::cpu {

/// Returns the fastest kernels for such a convolution: the widest whose vectors its channels fill.
/// Null if its groups are too wide, or have not as many results as channels.
[[nodiscard]] const simd::Kernels* grouped_kernels(const ConvGeometry& g);

/// The passes. `on.kernels` are from `grouped_kernels`; `bias` and `epilogue` may be null.
void grouped_forward(const ConvResources& on,
                     const ConvGeometry& g,
                     const float* x,
                     const float* weight,
                     const float* bias,
                     float* y,
                     const ConvEpilogue* epilogue);
void grouped_backward_data(const ConvResources& on,
                           const ConvGeometry& g,
                           const float* dy,
                           const float* weight,
                           float* dx,
                           GradMode mode);
void grouped_backward_weight(const ConvResources& on,
                             const ConvGeometry& g,
                             const float* x,
                             const float* dy,
                             float* dw,
                             GradMode mode);

inline constexpr ConvPath kGroupedPath{
    grouped_forward, grouped_backward_data, grouped_backward_weight};

}  // namespace learn::cpu
