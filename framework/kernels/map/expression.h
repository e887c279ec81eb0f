#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// The function that `map` computes for each element (ADR 0031), written in C++ once for every
/// device and dtype:
///
///     const Expr a = expr::arg(0), b = expr::arg(1);
///     const Expr f = a * exp(-b);
///
/// Building an expression computes nothing. Functions and operators are found by argument-dependent
/// lookup. A number converts to a constant.
namespace learn::expr {

enum class Op : std::uint8_t {
  argument,
  constant,
  negate,
  abs,
  sign,
  sqrt,
  exp,
  log,
  log1p,
  sin,
  cos,
  tanh,
  sigmoid,
  add,
  subtract,
  multiply,
  divide,
  pow,
  minimum,
  maximum,
  less,
  less_equal,
  equal,
  select,
  clamp,
};

/// An expression of arguments and numbers. It is cheap to copy, and parts may be shared.
class Expr {
 public:
  struct Node;
  // NOLINTNEXTLINE(google-explicit-constructor): allows 2 * a
  Expr(double number);
  explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  [[nodiscard]] const Node& operator*() const noexcept { return *node_; }
  [[nodiscard]] const Node* operator->() const noexcept { return node_.get(); }

 private:
  std::shared_ptr<const Node> node_;
};

struct Expr::Node {
  Op op;
  int argument = 0;   ///< of Op::argument: its index
  double number = 0;  ///< of Op::constant
  std::vector<Expr> operands = {};
  int depth = 0;  ///< length of the longest path down
};

/// Returns the element of operand number `i`, counted from 0. Throws UsageError for a negative one.
[[nodiscard]] Expr arg(int i);

[[nodiscard]] Expr operator-(const Expr& x);
[[nodiscard]] Expr operator+(const Expr& a, const Expr& b);
[[nodiscard]] Expr operator-(const Expr& a, const Expr& b);
[[nodiscard]] Expr operator*(const Expr& a, const Expr& b);
[[nodiscard]] Expr operator/(const Expr& a, const Expr& b);
/// Return 1 where the comparison holds, otherwise 0, including where an operand is NaN. Their
/// derivative is 0.
[[nodiscard]] Expr operator<(const Expr& a, const Expr& b);
[[nodiscard]] Expr operator<=(const Expr& a, const Expr& b);
[[nodiscard]] Expr operator>(const Expr& a, const Expr& b);
[[nodiscard]] Expr operator>=(const Expr& a, const Expr& b);
[[nodiscard]] Expr operator==(const Expr& a, const Expr& b);
/// Returns `a` where `condition` is not 0, otherwise `b`. The condition gets no derivative, and
/// neither does the branch that is not taken, even where that branch or its derivative is infinite
/// or NaN.
[[nodiscard]] Expr select(const Expr& condition, const Expr& a, const Expr& b);

/// Returns |x|. Its derivative at 0 is 0.
[[nodiscard]] Expr abs(const Expr& x);
/// Returns -1, 0 or 1. Its derivative is 0.
[[nodiscard]] Expr sign(const Expr& x);
[[nodiscard]] Expr sqrt(const Expr& x);
/// Returns e^x as C's exp does. On the CPU, results that would be subnormal (x below -87.34) are 0.
[[nodiscard]] Expr exp(const Expr& x);
[[nodiscard]] Expr log(const Expr& x);
/// Returns log(1 + x), accurate for small x.
[[nodiscard]] Expr log1p(const Expr& x);
/// Return the sine and cosine of an angle in radians.
[[nodiscard]] Expr sin(const Expr& x);
[[nodiscard]] Expr cos(const Expr& x);
[[nodiscard]] Expr tanh(const Expr& x);
/// Returns 1 / (1 + exp(-x)).
[[nodiscard]] Expr sigmoid(const Expr& x);
/// Returns log(1 + exp(x)) without overflow.
[[nodiscard]] Expr softplus(const Expr& x);
/// Returns the power as C's pow does. For a base of 0 and for an exponent of 0, the derivatives are
/// the same as in PyTorch.
[[nodiscard]] Expr pow(const Expr& base, const Expr& exponent);
/// Return the smaller (larger) operand, or NaN if an operand is NaN. Where the operands are equal,
/// each gets half of the derivative.
[[nodiscard]] Expr minimum(const Expr& a, const Expr& b);
[[nodiscard]] Expr maximum(const Expr& a, const Expr& b);
/// Returns `x` limited to [low, high]; NaN stays. The derivative is 1 between the borders and at
/// NaN (PyTorch: 0 at NaN), and 0 at the borders.
[[nodiscard]] Expr clamp(const Expr& x, const Expr& low, const Expr& high);

/// Returns the derivatives of f with respect to the given arguments, each times `dy`. They use the
/// value of f as `value`.
[[nodiscard]] std::vector<Expr> gradients(const Expr& f,
                                          const Expr& value,
                                          const Expr& dy,
                                          std::span<const int> wanted);
/// Returns them with the value of f computed again.
[[nodiscard]] inline std::vector<Expr> gradients(const Expr& f,
                                                 const Expr& dy,
                                                 std::span<const int> wanted) {
  return gradients(f, f, dy, wanted);
}

}  // namespace learn::expr

namespace learn {
using expr::Expr;
}  // namespace learn
