#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// Computes y (N,K) = x (N,C) * w (K,C)^T [+ bias (K)]. Without a bias, it also computes B products
/// at once: y (B,N,K) of x (B,N,C) and w (B,K,C). The next two functions accept batches too.
void linear_forward(Context& ctx, const Tensor& x, const Tensor& w, const Tensor& bias, Tensor& y);
/// Computes dx (N,C) (+)= dy (N,K) * w (K,C).
void linear_backward_data(
    Context& ctx, const Tensor& dy, const Tensor& w, Tensor& dx, GradMode mode);
/// Computes dw (K,C) (+)= dy (N,K)^T * x (N,C).
void linear_backward_weight(
    Context& ctx, const Tensor& x, const Tensor& dy, Tensor& dw, GradMode mode);

/// Computes both gradients of a linear layer's parameters, like `linear_backward_weight` and
/// `bias_backward`. On CUDA, dy is read only once if db is overwritten.
void linear_backward_parameters(Context& ctx,
                                const Tensor& x,
                                const Tensor& dy,
                                Tensor& dw,
                                GradMode weight_mode,
                                Tensor& db,
                                GradMode bias_mode);

}  // namespace learn::kernels
