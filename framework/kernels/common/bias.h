#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// Computes db (K) (+)= dy (...,K) summed over all other dimensions.
void bias_backward(Context& ctx, const Tensor& dy, Tensor& db, GradMode mode);

}  // namespace learn::kernels
