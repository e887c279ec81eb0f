#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// y (N,K) = x (N,C) * w (K,C)^T [+ bias (K)]. Without a bias also B of them at once: y (B,N,K) of
/// x (B,N,C) and w (B,K,C); so for the next two.
void linear_forward(Context& ctx, const Tensor& x, const Tensor& w, const Tensor& bias, Tensor& y);
/// dx (N,C) (+)= dy (N,K) * w (K,C).
void linear_backward_data(
    Context& ctx, const Tensor& dy, const Tensor& w, Tensor& dx, GradMode mode);
/// dw (K,C) (+)= dy (N,K)^T * x (N,C).
void linear_backward_weight(
    Context& ctx, const Tensor& x, const Tensor& dy, Tensor& dw, GradMode mode);

/// Both gradients of a linear layer's parameters: as `linear_backward_weight` and `bias_backward`.
/// On CUDA from one reading of dy where db is overwritten.
void linear_backward_parameters(Context& ctx,
                                const Tensor& x,
                                const Tensor& dy,
                                Tensor& dw,
                                GradMode weight_mode,
                                Tensor& db,
                                GradMode bias_mode);

}  // namespace learn::kernels
