#pragma once
#include "framework/kernels/common/activation_kind.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// Computes y = act(x) elementwise. x and y have the same shape and floating dtype; y may be x.
/// Throws ShapeError, DTypeError, DeviceError.
void activation_forward(Context& ctx, const ActivationKind& kind, const Tensor& x, Tensor& y);

/// Computes dx (+)= dy * act'(x), where `x` is the input of the forward pass. All tensors have the
/// same shape and dtype; dx may be dy.
void activation_backward(Context& ctx,
                         const ActivationKind& kind,
                         const Tensor& x,
                         const Tensor& dy,
                         Tensor& dx,
                         GradMode mode);

}  // namespace learn::kernels
