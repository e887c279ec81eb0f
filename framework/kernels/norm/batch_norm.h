#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/norm/batch_norm_options.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// x (N,H,W,C) or (N,C) and `residual` (the shape of x, or undefined: none) share a floating dtype;
/// `weight` and `bias` (C) are f32 (f64 for f64 x).
struct BatchNormOperands {
  Tensor x, weight, bias, residual;
};

/// Statistics of a forward pass, for its backward pass: both (C), f32 (f64 for f64 x); rstd = 1 /
/// sqrt(biased variance + eps).
struct BatchNormStatistics {
  Tensor mean, rstd;
};

/// Where one gradient of the backward pass goes; an undefined tensor is not computed.
struct BatchNormGradient {
  Tensor tensor;
  GradMode mode = GradMode::overwrite;
};
struct BatchNormGradients {
  BatchNormGradient x, weight, bias, residual;
};

/// y = act((x - mean) * rstd * weight + bias [+ residual]) [+ residual] with the batch's
/// statistics, which are stored in `statistics`; the running ones (C) are updated by running = (1 -
/// momentum) * running + momentum * batch, with the unbiased variance, as PyTorch. y must be
/// separate memory. Throws ShapeError, DTypeError, DeviceError, and Error if there is one value per
/// channel or none.
void batch_norm_train(Context& ctx,
                      const BatchNormOperands& in,
                      Tensor& running_mean,
                      Tensor& running_var,
                      const BatchNormOptions& options,
                      Tensor& y,
                      BatchNormStatistics& statistics);

/// Normalizes with the running statistics, and copies them into `statistics`.
void batch_norm_eval(Context& ctx,
                     const BatchNormOperands& in,
                     const Tensor& running_mean,
                     const Tensor& running_var,
                     const BatchNormOptions& options,
                     Tensor& y,
                     BatchNormStatistics& statistics);

/// Transformation by `batch_norm_eval` of each value of a channel, before activation and residual:
/// bn(x) = x * scale + shift, all (C) in f32 on the CPU, to the bit. Throws ShapeError, DTypeError.
void batch_norm_affine(Context& ctx,
                       const Tensor& weight,
                       const Tensor& bias,
                       const Tensor& running_mean,
                       const Tensor& running_var,
                       float eps,
                       Tensor& scale,
                       Tensor& shift);

/// Which of the two forward passes a backward pass belongs to: only in training do the statistics
/// depend on x.
enum class BatchNormPass : std::uint8_t { train, eval };

/// The gradients of a forward pass, from what it was given and left in `statistics`. `out.x` and
/// `out.residual` may be the same memory (x is its own residual).
void batch_norm_backward(Context& ctx,
                         BatchNormPass pass,
                         const BatchNormOperands& in,
                         const BatchNormStatistics& statistics,
                         const BatchNormOptions& options,
                         const Tensor& dy,
                         BatchNormGradients& out);

}  // namespace learn::kernels
