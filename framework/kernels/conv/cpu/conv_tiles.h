#pragma once
#include "framework/core/dtype.h"
#include "framework/kernels/conv/cpu/conv_direct.h"

/// Convolutions of bf16 on the matrix unit: gathered rows of bf16, sums in f32, one rounding at the
/// end. The result is identical, bit for bit, for any number of threads. Only for machines that
/// have a matrix unit; see `ConvResources::tiles`.
namespace learn::cpu {

/// Returns whether there is enough to multiply. Groups of few channels would fill the tiles with
/// zeros.
[[nodiscard]] bool tiles_apply(const ConvGeometry& g);

/// Computes the forward pass; `bias` may be null.
void tiles_forward(const ConvResources& on,
                   const ConvGeometry& g,
                   const BFloat16* x,
                   const BFloat16* weight,
                   const BFloat16* bias,
                   BFloat16* y);
void tiles_backward_data(const ConvResources& on,
                         const ConvGeometry& g,
                         const BFloat16* dy,
                         const BFloat16* weight,
                         BFloat16* dx,
                         GradMode mode);
void tiles_backward_weight(const ConvResources& on,
                           const ConvGeometry& g,
                           const BFloat16* x,
                           const BFloat16* dy,
                           BFloat16* dw,
                           GradMode mode);

}  // namespace learn::cpu
