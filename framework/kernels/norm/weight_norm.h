#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// A weight w (K,...) as lengths and directions (Salimans & Kingma 2016): each of its K rows, which
/// makes one output, is w = g v / ||v||. `v` has the shape of w and a floating dtype; `g` (K) or
/// (K,1,...) is f32 (f64 for f64 v), and so is ||v|| in the square and in the sum.
struct WeightNormOperands {
  Tensor v, g;
};

/// Where one gradient goes; an undefined tensor is not computed.
struct WeightNormGradient {
  Tensor tensor;
  GradMode mode = GradMode::overwrite;
};
struct WeightNormGradients {
  WeightNormGradient v, g;
};

/// `w` = g v / ||v||; `norms`, of the shape and dtype of g, = ||v|| of each row, which the backward
/// pass needs. A row of zeros has no direction: it becomes NaN, as PyTorch's. Throws ShapeError
/// (also if there is no element), DTypeError, DeviceError.
void weight_norm_forward(Context& ctx, const WeightNormOperands& in, Tensor& w, Tensor& norms);

/// dg (+)= (v . dw) / ||v|| and dv (+)= g / ||v|| (dw - v (v . dw) / ||v||^2), row by row.
void weight_norm_backward(Context& ctx,
                          const WeightNormOperands& in,
                          const Tensor& norms,
                          const Tensor& dw,
                          WeightNormGradients& out);

}  // namespace learn::kernels
