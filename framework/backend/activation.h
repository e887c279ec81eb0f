#pragma once
#include "framework/backend/activation_kind.h"
#include "framework/backend/context.h"
#include "framework/backend/grad_mode.h"

namespace learn::backend {

/// y = act(x), elementwise; same shape and floating dtype; y may be x.
/// Throws ShapeError, DTypeError, DeviceError.
void activation_forward(Context& ctx, const ActivationKind& kind, const Tensor& x, Tensor& y);

/// dx (+)= dy * act'(x). `x` is the forward's input. All of one shape and dtype; dx may be dy.
void activation_backward(Context& ctx,
                         const ActivationKind& kind,
                         const Tensor& x,
                         const Tensor& dy,
                         Tensor& dx,
                         GradMode mode);

}  // namespace learn::backend
