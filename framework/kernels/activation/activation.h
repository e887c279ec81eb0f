#pragma once
#include "framework/kernels/common/activation_kind.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

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

}  // namespace learn::kernels
