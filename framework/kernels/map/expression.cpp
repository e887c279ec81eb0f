#include "framework/kernels/map/expression.h"

#include "framework/core/error.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace learn::expr {
namespace {

/// Far more than a program can hold, and far less than recursion can handle.
constexpr int kMaxDepth = 512;

Expr make(Op op, std::vector<Expr> operands) {
  int depth = 0;
  for (const Expr& operand : operands) depth = std::max(depth, operand->depth + 1);
  check<UsageError>(depth <= kMaxDepth,
                    "an expression of more than {} nested operations: map it in parts",
                    kMaxDepth);
  return Expr(std::make_shared<Expr::Node>(
      Expr::Node{.op = op, .operands = std::move(operands), .depth = depth}));
}

bool is_number(const Expr& x) { return x->op == Op::constant; }
bool is_number(const Expr& x, double value) { return is_number(x) && x->number == value; }
bool are_numbers(const Expr& a, const Expr& b) { return is_number(a) && is_number(b); }

}  // namespace

Expr::Expr(double number)
    : node_(std::make_shared<Node>(Node{.op = Op::constant, .number = number})) {}

Expr arg(int i) {
  check<UsageError>(
      i >= 0,
      "arg({}): operands of a map are numbered from 0, so the number must not be negative",
      i);
  return Expr(std::make_shared<Expr::Node>(Expr::Node{.op = Op::argument, .argument = i}));
}

// Operators fold numbers and drop operations that change nothing, because derivatives are full of
// both.

Expr operator-(const Expr& x) {
  if (is_number(x)) return -x->number;
  if (x->op == Op::negate) return x->operands[0];
  return make(Op::negate, {x});
}

Expr operator+(const Expr& a, const Expr& b) {
  if (are_numbers(a, b)) return a->number + b->number;
  if (b->op == Op::negate) return a - b->operands[0];
  return make(Op::add, {a, b});
}

Expr operator-(const Expr& a, const Expr& b) {
  if (are_numbers(a, b)) return a->number - b->number;
  if (is_number(b, 0)) return a;
  if (b->op == Op::negate) return a + b->operands[0];
  return make(Op::subtract, {a, b});
}

Expr operator*(const Expr& a, const Expr& b) {
  if (are_numbers(a, b)) return a->number * b->number;
  if (is_number(a, 1)) return b;
  if (is_number(b, 1)) return a;
  return make(Op::multiply, {a, b});
}

Expr operator/(const Expr& a, const Expr& b) {
  if (are_numbers(a, b)) return a->number / b->number;
  if (is_number(b, 1)) return a;
  return make(Op::divide, {a, b});
}

Expr operator<(const Expr& a, const Expr& b) {
  if (are_numbers(a, b)) return a->number < b->number ? 1 : 0;
  return make(Op::less, {a, b});
}
Expr operator<=(const Expr& a, const Expr& b) {
  if (are_numbers(a, b)) return a->number <= b->number ? 1 : 0;
  return make(Op::less_equal, {a, b});
}
Expr operator>(const Expr& a, const Expr& b) { return b < a; }
Expr operator>=(const Expr& a, const Expr& b) { return b <= a; }
Expr operator==(const Expr& a, const Expr& b) {
  if (are_numbers(a, b)) return a->number == b->number ? 1 : 0;
  return make(Op::equal, {a, b});
}

Expr select(const Expr& condition, const Expr& a, const Expr& b) {
  if (is_number(condition)) return condition->number != 0 ? a : b;
  return make(Op::select, {condition, a, b});
}

Expr abs(const Expr& x) { return make(Op::abs, {x}); }
Expr sign(const Expr& x) { return make(Op::sign, {x}); }
Expr sqrt(const Expr& x) { return make(Op::sqrt, {x}); }
Expr exp(const Expr& x) { return make(Op::exp, {x}); }
Expr log(const Expr& x) { return make(Op::log, {x}); }
Expr log1p(const Expr& x) { return make(Op::log1p, {x}); }
Expr sin(const Expr& x) { return make(Op::sin, {x}); }
Expr cos(const Expr& x) { return make(Op::cos, {x}); }
Expr tanh(const Expr& x) { return make(Op::tanh, {x}); }
Expr sigmoid(const Expr& x) { return make(Op::sigmoid, {x}); }
Expr softplus(const Expr& x) { return maximum(x, 0) + log1p(exp(-abs(x))); }

Expr pow(const Expr& base, const Expr& exponent) {
  if (are_numbers(base, exponent)) return std::pow(base->number, exponent->number);
  if (is_number(exponent, 0)) return 1;
  if (is_number(exponent, 1)) return base;
  if (is_number(exponent, 2)) return base * base;
  if (is_number(exponent, 3)) return base * base * base;
  if (is_number(exponent, 0.5)) return sqrt(base);
  if (is_number(exponent, -1)) return 1 / base;
  return make(Op::pow, {base, exponent});
}

Expr minimum(const Expr& a, const Expr& b) { return make(Op::minimum, {a, b}); }
Expr maximum(const Expr& a, const Expr& b) { return make(Op::maximum, {a, b}); }
Expr clamp(const Expr& x, const Expr& low, const Expr& high) {
  return make(Op::clamp, {x, low, high});
}

}  // namespace learn::expr
