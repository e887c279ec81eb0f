#pragma once
#include "framework/kernels/conv/conv.h"
#include "framework/kernels/norm/batch_norm.h"

namespace learn::kernels {

/// Whether `conv2d_batch_norm` can normalise such an output: on the CPU's fast path, in f32, with a
/// piecewise linear activation.
[[nodiscard]] bool can_fuse_batch_norm(const Context& ctx,
                                       DType dtype,
                                       const BatchNormOptions& options);

/// `batch_norm_eval` of `conv2d_forward`, each output being normalised while it is in the cache:
/// the same bits as one after the other. `norm.x` is not used. Throws as both, and UsageError where
/// that cannot be done.
void conv2d_batch_norm(Context& ctx,
                       const Tensor& x,
                       const Tensor& w,
                       const Tensor& bias,
                       const Conv2dOptions& options,
                       const BatchNormOperands& norm,
                       const Tensor& running_mean,
                       const Tensor& running_var,
                       const BatchNormOptions& norm_options,
                       Tensor& y);

}  // namespace learn::kernels
