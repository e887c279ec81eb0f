#pragma once
#include "framework/autograd/var.h"
#include "framework/kernels/common/activation_kind.h"

namespace learn::ops {

/// Elementwise activation of any shape and floating dtype. `identity` returns `x` itself.
[[nodiscard]] Var activation(const Var& x, const ActivationKind& kind);
[[nodiscard]] Var relu(const Var& x);
[[nodiscard]] Var leaky_relu(const Var& x, float slope = 0.01F);
[[nodiscard]] Var gelu(const Var& x);
[[nodiscard]] Var silu(const Var& x);

}  // namespace learn::ops
