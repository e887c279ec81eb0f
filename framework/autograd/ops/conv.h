#pragma once
#include "framework/autograd/var.h"
#include "framework/kernels/conv/conv_options.h"

namespace learn::ops {

/// x (N,H,W,C) * w (K,R,S,C/groups) [+ bias (K)] -> (N,P,Q,K), P = (H + pads - R) / stride + 1. One
/// floating dtype for all; halves accumulate in f32. A default-made `bias` means none.
/// Of an x with padding (`Var::padding`) C is what is before it.
[[nodiscard]] Var conv2d(const Var& x, const Var& w, const Var& bias, const Conv2dOptions& options);

/// x (N,C) * w (K,C)^T [+ bias (K)] -> (N,K).
[[nodiscard]] Var linear(const Var& x, const Var& w, const Var& bias);

}  // namespace learn::ops
