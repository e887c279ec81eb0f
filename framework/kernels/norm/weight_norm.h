#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// A weight w (K,...) as lengths and directions (Salimans & Kingma 2016). Each of its K rows, which
/// produces one output, is w = g v / ||v||. `v` has the shape of w and a floating dtype. `g` (K) or
/// (K,1,...) is f32 (f64 for f64 v); squares and sums of ||v|| are computed in the same type.
struct WeightNormOperands {
  Tensor v, g;
};

/// The destination of one gradient. A gradient whose tensor is undefined is not computed.
struct WeightNormGradient {
  Tensor tensor;
  GradMode mode = GradMode::overwrite;
};
struct WeightNormGradients {
  WeightNormGradient v, g;
};

/// Computes `w` = g v / ||v|| and `norms` = ||v|| of each row, in the shape and dtype of g, which
/// the backward pass needs. A row of zeros has no direction and becomes NaN, as in PyTorch. Throws
/// ShapeError (also without elements), DTypeError, DeviceError.
void weight_norm_forward(Context& ctx, const WeightNormOperands& in, Tensor& w, Tensor& norms);

/// Computes dg (+)= (v . dw) / ||v|| and dv (+)= g / ||v|| (dw - v (v . dw) / ||v||^2), row by row.
void weight_norm_backward(Context& ctx,
                          const WeightNormOperands& in,
                          const Tensor& norms,
                          const Tensor& dw,
                          WeightNormGradients& out);

}  // namespace learn::kernels
