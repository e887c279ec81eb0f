#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// Computes `loss`, one element of f32 (f64 for f64), = mean of (pred - target)^2. `target` has
/// pred's shape and either its dtype or f32. Throws ShapeError (also without elements), DTypeError,
/// DeviceError.
void mse_forward(Context& ctx, const Tensor& pred, const Tensor& target, Tensor& loss);

/// Computes dpred (+)= dloss * 2 * (pred - target) / elements.
void mse_backward(Context& ctx,
                  const Tensor& pred,
                  const Tensor& target,
                  const Tensor& dloss,
                  Tensor& dpred,
                  GradMode mode);

}  // namespace learn::kernels
