#pragma once
#include "framework/kernels/conv/cpu/conv_direct.h"

/// Convolutions whose groups have few channels, depthwise ones among them. Products over
/// gathered rows (conv_direct.h) would fill only as many columns of a panel as a group has results;
/// here a vector holds the channels of several groups.
namespace learn::cpu {

/// Returns the fastest kernels for such a convolution: the widest whose vectors its channels fill.
/// Null if its groups are too wide, or have not as many results as channels.
[[nodiscard]] const simd::Kernels* grouped_kernels(const ConvGeometry& g);

/// The passes. `on.kernels` are from `grouped_kernels`; `bias` and `epilogue` may be null. Halves
/// are converted a few rows at a time, which stay in a core's cache; sums are f32.
template <class T>
void grouped_forward(const ConvResources& on,
                     const ConvGeometry& g,
                     const T* x,
                     const T* weight,
                     const T* bias,
                     T* y,
                     const ConvEpilogue* epilogue);
template <class T>
void grouped_backward_data(const ConvResources& on,
                           const ConvGeometry& g,
                           const T* dy,
                           const T* weight,
                           T* dx,
                           GradMode mode);
template <class T>
void grouped_backward_weight(
    const ConvResources& on, const ConvGeometry& g, const T* x, const T* dy, T* dw, GradMode mode);
inline constexpr ConvPath kGroupedPath{
    grouped_forward<float>, grouped_backward_data<float>, grouped_backward_weight<float>};

}  // namespace learn::cpu
