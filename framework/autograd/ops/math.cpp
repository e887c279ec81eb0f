#include "framework/autograd/ops.h"
#include "framework/core/error.h"

#include <array>
#include <span>

namespace learn::ops {
namespace {

Var unary(const MapFunction& f, const Var& x, CastClass rule) {
  return map(f, std::span(&x, 1), rule);
}

Var binary(const MapFunction& f, const Var& a, const Var& b, CastClass rule) {
  check<DTypeError>(a.dtype() == b.dtype() || a.tape().autocast(),
                    "{}: dtypes differ: {} and {}",
                    f.name(),
                    a.dtype(),
                    b.dtype());
  return map(f, std::array{a, b}, rule);
}

Expr first() { return expr::arg(0); }
Expr second() { return expr::arg(1); }

}  // namespace

Var sub(const Var& a, const Var& b) {
  static const MapFunction kF(first() - second(), "sub");
  return binary(kF, a, b, cast_class("sub"));
}
Var div(const Var& a, const Var& b) {
  static const MapFunction kF(first() / second(), "div");
  return binary(kF, a, b, cast_class("div"));
}
Var pow(const Var& base, const Var& exponent) {
  static const MapFunction kF(expr::pow(first(), second()), "pow");
  return binary(kF, base, exponent, cast_class("pow"));
}
Var pow(const Var& base, double exponent) {
  const Expr x = first();
  const Expr power =
      exponent == 0 ? select(x == x, 1, 1) : expr::pow(x, exponent);  // 1 of NaN, too
  return unary(MapFunction(power, "pow"), base, cast_class("pow"));
}
Var minimum(const Var& a, const Var& b) {
  static const MapFunction kF(expr::minimum(first(), second()), "minimum");
  return binary(kF, a, b, cast_class("minimum"));
}
Var maximum(const Var& a, const Var& b) {
  static const MapFunction kF(expr::maximum(first(), second()), "maximum");
  return binary(kF, a, b, cast_class("maximum"));
}
Var clamp(const Var& x, double low, double high) {
  check<UsageError>(
      low <= high, "clamp: the lower bound {} is above the upper bound {}", low, high);
  return unary(MapFunction(expr::clamp(first(), low, high), "clamp"), x, cast_class("clamp"));
}
Var abs(const Var& x) {
  static const MapFunction kF(expr::abs(first()), "abs");
  return unary(kF, x, cast_class("abs"));
}
Var sqrt(const Var& x) {
  static const MapFunction kF(expr::sqrt(first()), "sqrt");
  return unary(kF, x, cast_class("sqrt"));
}
Var exp(const Var& x) {
  static const MapFunction kF(expr::exp(first()), "exp");
  return unary(kF, x, cast_class("exp"));
}
Var log(const Var& x) {
  static const MapFunction kF(expr::log(first()), "log");
  return unary(kF, x, cast_class("log"));
}
Var sigmoid(const Var& x) {
  static const MapFunction kF(expr::sigmoid(first()), "sigmoid");
  return unary(kF, x, cast_class("sigmoid"));
}
Var sin(const Var& x) {
  static const MapFunction kF(expr::sin(first()), "sin");
  return unary(kF, x, cast_class("sin"));
}
Var cos(const Var& x) {
  static const MapFunction kF(expr::cos(first()), "cos");
  return unary(kF, x, cast_class("cos"));
}
Var tanh(const Var& x) {
  static const MapFunction kF(expr::tanh(first()), "tanh");
  return unary(kF, x, cast_class("tanh"));
}
Var softplus(const Var& x) {
  static const MapFunction kF(expr::softplus(first()), "softplus");
  return unary(kF, x, cast_class("softplus"));
}

}  // namespace learn::ops

namespace learn {
namespace {

/// `x` and a number, which is not an operand.
Var with_number(const Expr& f, const char* name, const Var& x) {
  return ops::map(ops::MapFunction(f, name), std::span(&x, 1), CastClass::given);
}

}  // namespace

Var operator-(const Var& x) { return ops::scale(x, -1); }
Var operator-(const Var& a, const Var& b) { return ops::sub(a, b); }
Var operator*(const Var& a, const Var& b) { return ops::mul(a, b); }
Var operator/(const Var& a, const Var& b) { return ops::div(a, b); }
Var operator+(const Var& a, double b) { return with_number(expr::arg(0) + b, "add_number", a); }
Var operator+(double a, const Var& b) { return b + a; }
Var operator-(const Var& a, double b) { return with_number(expr::arg(0) - b, "sub_number", a); }
Var operator-(double a, const Var& b) {
  return with_number(a - expr::arg(0), "sub_from_number", b);
}
Var operator*(const Var& a, double b) { return ops::scale(a, b); }
Var operator*(double a, const Var& b) { return ops::scale(b, a); }
Var operator/(const Var& a, double b) { return with_number(expr::arg(0) / b, "div_by_number", a); }
Var operator/(double a, const Var& b) { return with_number(a / expr::arg(0), "div_of_number", b); }

}  // namespace learn
