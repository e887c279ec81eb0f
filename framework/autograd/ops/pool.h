#pragma once
#include "framework/autograd/var.h"
#include "framework/kernels/pool/pool_options.h"

namespace learn::ops {

/// x (N,H,W,C) -> (N,P,Q,C). Ties go to the first element of the window; padding never wins.
[[nodiscard]] Var max_pool2d(const Var& x, const Pool2dOptions& options);
[[nodiscard]] Var avg_pool2d(const Var& x, const Pool2dOptions& options);
/// (N,H,W,C) -> (N,1,1,C).
[[nodiscard]] Var global_avg_pool(const Var& x);
[[nodiscard]] Var global_max_pool(const Var& x);

}  // namespace learn::ops
