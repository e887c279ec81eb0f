#pragma once
#include "framework/backend/context.h"
#include "framework/backend/grad_mode.h"

namespace learn::backend {

/// `loss`, one element of f32 (f64 for f64), = mean of (pred - target)^2. `target` has pred's shape
/// and its dtype or f32. Throws ShapeError (also if there is no element), DTypeError, DeviceError.
void mse_forward(Context& ctx, const Tensor& pred, const Tensor& target, Tensor& loss);

/// dpred (+)= dloss * 2 * (pred - target) / elements.
void mse_backward(Context& ctx,
                  const Tensor& pred,
                  const Tensor& target,
                  const Tensor& dloss,
                  Tensor& dpred,
                  GradMode mode);

}  // namespace learn::backend
