#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// Expression that `map` computes for each element (ADR 0031), written in C++ once for every device
/// and dtype:
///
///     const Expr a = expr::arg(0), b = expr::arg(1);
///     const Expr f = a * exp(-b);
///
/// Building it computes nothing. Functions and operators are found by the type of their arguments;
/// a number is a constant.
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
};

/// A value that is made of arguments and numbers: cheap to copy; parts may be shared.
class Expr {
 public:
  struct Node;
  // NOLINTNEXTLINE(google-explicit-constructor): 2 * a is what is meant
  Expr(double number);
  explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  [[nodiscard]] const Node& operator*() const noexcept { return *node_; }
  [[nodiscard]] const Node* operator->() const noexcept { return node_.get(); }

 private:
  std::shared_ptr<const Node> node_;
};

struct Expr::Node {
  Op op;
  int argument = 0;   ///< of Op::argument: which one
  double number = 0;  ///< of Op::constant
  std::vector<Expr> operands = {};
  int depth = 0;  ///< the longest way down
};

/// The element of operand number `i`, from 0. Throws UsageError for a negative one.
[[nodiscard]] Expr arg(int i);

[[nodiscard]] Expr operator-(const Expr& x);
[[nodiscard]] Expr operator+(const Expr& a, const Expr& b);
[[nodiscard]] Expr operator-(const Expr& a, const Expr& b);
[[nodiscard]] Expr operator*(const Expr& a, const Expr& b);
[[nodiscard]] Expr operator/(const Expr& a, const Expr& b);
/// 1 where it holds, else 0, also where one of them is NaN. Their derivative is 0.
[[nodiscard]] Expr operator<(const Expr& a, const Expr& b);
[[nodiscard]] Expr operator<=(const Expr& a, const Expr& b);
[[nodiscard]] Expr operator>(const Expr& a, const Expr& b);
[[nodiscard]] Expr operator>=(const Expr& a, const Expr& b);
[[nodiscard]] Expr operator==(const Expr& a, const Expr& b);
/// `a` where `condition` is not 0, else `b`. No derivative goes into the condition, and none into
/// the branch that is not taken, even where that branch or its derivative is infinite or NaN.
[[nodiscard]] Expr select(const Expr& condition, const Expr& a, const Expr& b);

/// Its derivative at 0 is 0.
[[nodiscard]] Expr abs(const Expr& x);
/// -1, 0 or 1. Its derivative is 0.
[[nodiscard]] Expr sign(const Expr& x);
[[nodiscard]] Expr sqrt(const Expr& x);
/// C's exp, except that on the CPU a subnormal result (x below -87.34) is 0.
[[nodiscard]] Expr exp(const Expr& x);
[[nodiscard]] Expr log(const Expr& x);
/// log(1 + x), exact for small x.
[[nodiscard]] Expr log1p(const Expr& x);
/// The argument is in radians.
[[nodiscard]] Expr sin(const Expr& x);
[[nodiscard]] Expr cos(const Expr& x);
[[nodiscard]] Expr tanh(const Expr& x);
/// 1 / (1 + exp(-x)).
[[nodiscard]] Expr sigmoid(const Expr& x);
/// log(1 + exp(x)), which does not overflow.
[[nodiscard]] Expr softplus(const Expr& x);
/// C's pow. A base of 0 and an exponent of 0 have PyTorch's derivatives.
[[nodiscard]] Expr pow(const Expr& base, const Expr& exponent);
/// NaN if one of them is. Where they are equal each gets half of the derivative.
[[nodiscard]] Expr minimum(const Expr& a, const Expr& b);
[[nodiscard]] Expr maximum(const Expr& a, const Expr& b);
/// `x` within [low, high]; NaN stays. The derivative is 1 between the borders and at NaN (PyTorch:
/// 0 at NaN), and 0 at the borders.
[[nodiscard]] Expr clamp(const Expr& x, const Expr& low, const Expr& high);

/// Returns the derivative of f by each of the arguments `wanted`, times `dy`.
[[nodiscard]] std::vector<Expr> gradients(const Expr& f,
                                          const Expr& dy,
                                          std::span<const int> wanted);

}  // namespace learn::expr

namespace learn {
using expr::Expr;
}  // namespace learn
