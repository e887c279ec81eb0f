#pragma once
#include "framework/autograd/forward_mode.h"
#include "framework/autograd/var.h"
#include "framework/kernels/norm/batch_norm_options.h"

namespace learn::ops {

/// Batch normalisation over (N,H,W) of x (N,H,W,C), or over N of x (N,C), then activation and
/// residual in one operation. `x` and `residual` share a floating dtype (f32, halves, or f64);
/// `weight`, `bias` (C) and the running statistics (C) are f32 (f64 for f64 x). In
/// the mode eval the running statistics are used, otherwise those of the batch, and the running
/// ones are updated at once. A default-made `residual` means none. Throws Error in training if
/// there is one value per channel only.
[[nodiscard]] Var batch_norm(const Var& x,
                             const Var& weight,
                             const Var& bias,
                             Tensor running_mean,
                             Tensor running_var,
                             const Var& residual,
                             const BatchNormOptions& options,
                             ForwardMode mode);

}  // namespace learn::ops
