#pragma once
#include "framework/autograd/var.h"

#include <cstdint>
#include <span>

namespace learn::ops {

/// a + b and a * b of one dtype, broadcast as in NumPy.
[[nodiscard]] Var add(const Var& a, const Var& b);
[[nodiscard]] Var mul(const Var& a, const Var& b);
/// x * factor.
[[nodiscard]] Var scale(const Var& x, double factor);
/// x (...,C) + bias (C).
[[nodiscard]] Var add_bias(const Var& x, const Var& bias);
/// Another floating dtype; returns `x` itself if it has that dtype. The gradient is cast back.
[[nodiscard]] Var cast(const Var& x, DType dtype);
/// The same elements under another shape; shares memory.
[[nodiscard]] Var reshape(const Var& x, const Shape& shape);
/// (N,...) -> (N, rest); shares memory.
[[nodiscard]] Var flatten(const Var& x);
/// Joins tensors that agree in all but dimension `axis` (negative counts from the end).
[[nodiscard]] Var concat(std::span<const Var> parts, int axis);
/// In training mode each element is zeroed with probability `p` in [0,1) and the rest scaled by
/// 1/(1-p); the mask is random4(seed, dropout, batch, stream and element), so it depends on nothing
/// else. In eval mode returns `x` itself. Throws UsageError for a bad `p`.
[[nodiscard]] Var dropout(const Var& x, double p);
/// Sum and mean of all elements: one element of shape (), f32 (f64 for f64 input).
[[nodiscard]] Var sum(const Var& x);
[[nodiscard]] Var mean(const Var& x);

}  // namespace learn::ops

namespace learn {

/// `ops::add`, where argument-dependent look-up finds it.
[[nodiscard]] inline Var operator+(const Var& a, const Var& b) { return ops::add(a, b); }

}  // namespace learn
