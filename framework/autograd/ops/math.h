#pragma once
#include "framework/autograd/ops/elementwise.h"
#include "framework/autograd/var.h"

/// Elementwise mathematics of any shape and floating dtype, each one line of `map` (ADR 0031): so
/// is what you miss here, see ops/map.h. Two operands have one dtype and are broadcast as in
/// NumPy; values and gradients at the borders are PyTorch's, but that the derivative of `clamp` at
/// NaN is 1, not 0.
///
/// Each operation rounds its result to the dtype of its operands. In f16 the square of 256 is
/// infinite, so what divides by a root of squares (a normalisation, a cosine) gives 0 without a
/// NaN, as the same operations do in PyTorch, whose own layers compute in f32 inside. Do so, too:
/// cast the operand to f32 first (`ops::cast`), and the result back; or write it as one `map`.
namespace learn::ops {

[[nodiscard]] Var sub(const Var& a, const Var& b);
[[nodiscard]] Var div(const Var& a, const Var& b);
/// base^exponent.
[[nodiscard]] Var pow(const Var& base, const Var& exponent);
[[nodiscard]] Var pow(const Var& base, double exponent);
/// NaN if one of them is. Where they are equal each gets half of the gradient.
[[nodiscard]] Var minimum(const Var& a, const Var& b);
[[nodiscard]] Var maximum(const Var& a, const Var& b);
/// Within [low, high]; the borders pass no gradient on. Throws UsageError if low > high.
[[nodiscard]] Var clamp(const Var& x, double low, double high);
[[nodiscard]] Var abs(const Var& x);
[[nodiscard]] Var sqrt(const Var& x);
[[nodiscard]] Var exp(const Var& x);
[[nodiscard]] Var log(const Var& x);
[[nodiscard]] Var sigmoid(const Var& x);
/// Of radians.
[[nodiscard]] Var sin(const Var& x);
[[nodiscard]] Var cos(const Var& x);
[[nodiscard]] Var tanh(const Var& x);
/// log(1 + exp(x)), which does not overflow.
[[nodiscard]] Var softplus(const Var& x);

}  // namespace learn::ops

namespace learn {

// Where argument-dependent look-up finds them; operator+ of two is in ops/elementwise.h.
[[nodiscard]] Var operator-(const Var& x);
[[nodiscard]] Var operator-(const Var& a, const Var& b);
[[nodiscard]] Var operator*(const Var& a, const Var& b);
[[nodiscard]] Var operator/(const Var& a, const Var& b);
[[nodiscard]] Var operator+(const Var& a, double b);
[[nodiscard]] Var operator+(double a, const Var& b);
[[nodiscard]] Var operator-(const Var& a, double b);
[[nodiscard]] Var operator-(double a, const Var& b);
[[nodiscard]] Var operator*(const Var& a, double b);
[[nodiscard]] Var operator*(double a, const Var& b);
[[nodiscard]] Var operator/(const Var& a, double b);
[[nodiscard]] Var operator/(double a, const Var& b);

}  // namespace learn
