#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// How rows are normalized.
struct LayerNormOptions {
  float eps = 1e-5F;
  /// False: mean is taken as 0, so that a row is divided by the root of its mean square, without a
  /// bias (RMSNorm; Zhang & Sennrich 2019).
  bool centered = true;
};

/// The inputs: x (...,C) of a floating dtype, and `weight` and `bias` (C) in f32 (f64 for f64 x).
/// The bias is undefined unless rows are centered.
struct LayerNormOperands {
  Tensor x, weight, bias;
};

/// The statistics of each row of C values, (rows) in the dtype of the weight; rstd = 1 /
/// sqrt(biased variance + eps).
struct LayerNormStatistics {
  Tensor mean, rstd;
};

/// The destination of one gradient. A gradient whose tensor is undefined is not computed.
struct LayerNormGradient {
  Tensor tensor;
  GradMode mode = GradMode::overwrite;
};
struct LayerNormGradients {
  LayerNormGradient x, weight, bias;
};

/// Computes y = (x - mean) * rstd * weight + bias, row by row (Ba, Kiros & Hinton 2016), and writes
/// `statistics`, which the backward pass needs. y may be x. Throws ShapeError (also for C = 0),
/// DTypeError, DeviceError.
void layer_norm_forward(Context& ctx,
                        const LayerNormOperands& in,
                        const LayerNormOptions& options,
                        Tensor& y,
                        LayerNormStatistics& statistics);

/// Computes, with xhat = (x - mean) * rstd and g = dy * weight: dx (+)= rstd * (g - mean(g) - xhat
/// * mean(g * xhat)), and over all rows dweight (+)= sum(dy * xhat), dbias (+)= sum(dy). The term
/// mean(g) is missing unless rows are centered.
void layer_norm_backward(Context& ctx,
                         const LayerNormOperands& in,
                         const LayerNormOptions& options,
                         const LayerNormStatistics& statistics,
                         const Tensor& dy,
                         LayerNormGradients& out);

}  // namespace learn::kernels
