#include "framework/kernels/map/expression.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace learn::expr {
namespace {

using Node = Expr::Node;

/// Operands before what is made of them, each node once.
void list_nodes(const Expr& x, std::unordered_set<const Node*>& seen, std::vector<Expr>& order) {
  if (!seen.insert(&*x).second) return;
  for (const Expr& operand : x->operands) list_nodes(operand, seen, order);
  order.push_back(x);
}

/// What each operand of `y` gets of `dy`, in their order; fewer if the others get nothing.
std::vector<Expr> passed_on(const Expr& y, const Expr& dy) {
  const std::vector<Expr>& in = y->operands;
  switch (y->op) {
    case Op::argument:
    case Op::constant:
    case Op::sign:
    case Op::less:
    case Op::less_equal:
    case Op::equal:
      return {};
    case Op::negate:
      return {-dy};
    case Op::abs:
      return {dy * sign(in[0])};
    case Op::sqrt:
      return {dy / (2 * y)};
    case Op::exp:
      return {dy * y};
    case Op::log:
      return {dy / in[0]};
    case Op::log1p:
      return {dy / (in[0] + 1)};
    case Op::sin:
      return {dy * cos(in[0])};
    case Op::cos:
      return {-dy * sin(in[0])};
    case Op::tanh:
      return {dy * (1 - y * y)};
    case Op::sigmoid:
      return {dy * ((1 - y) * y)};
    case Op::add:
      return {dy, dy};
    case Op::subtract:
      return {dy, -dy};
    case Op::multiply:
      return {dy * in[1], dy * in[0]};
    case Op::divide:
      return {dy / in[1], -dy * (y / in[1])};
    case Op::pow:
      return {dy * select(in[1] == 0, 0, in[1] * pow(in[0], in[1] - 1)),
              dy * select((in[0] == 0) * (0 <= in[1]), 0, y * log(in[0]))};
    case Op::minimum:
      return {dy * select(in[1] < in[0], 0, select(in[0] == in[1], 0.5, 1)),
              dy * select(in[0] < in[1], 0, select(in[0] == in[1], 0.5, 1))};
    case Op::maximum:
      return {dy * select(in[0] < in[1], 0, select(in[0] == in[1], 0.5, 1)),
              dy * select(in[1] < in[0], 0, select(in[0] == in[1], 0.5, 1))};
    case Op::select:
      // Chosen, not multiplied: a border that is taken must not make NaN of an infinite dy.
      return {0, select(in[0], dy, 0), select(in[0], 0, dy)};
  }
  return {};
}

bool leads_to_argument(const Expr& x, const std::unordered_set<const Node*>& leading) {
  return leading.contains(&*x);
}

}  // namespace

std::vector<Expr> gradients(const Expr& f, const Expr& dy, std::span<const int> wanted) {
  std::unordered_set<const Node*> seen;
  std::vector<Expr> order;
  list_nodes(f, seen, order);
  // Nodes that hold a wanted argument: no other has a derivative worth its instructions.
  std::unordered_set<const Node*> leading;
  for (const Expr& x : order)
    if ((x->op == Op::argument && std::ranges::find(wanted, x->argument) != wanted.end()) ||
        std::ranges::any_of(x->operands,
                            [&](const Expr& in) { return leads_to_argument(in, leading); }))
      leading.insert(&*x);

  std::unordered_map<const Node*, Expr> gradient;
  std::unordered_map<int, Expr> of_argument;  // an argument may have been written more than once
  gradient.emplace(&*f, dy);
  const auto add_to = [](auto& sums, const auto& key, const Expr& part) {
    const auto [at, first] = sums.emplace(key, part);
    if (!first) at->second = at->second + part;
  };
  for (std::size_t i = order.size(); i-- > 0;) {
    const Expr& y = order[i];
    const auto found = gradient.find(&*y);
    if (found == gradient.end() || !leads_to_argument(y, leading)) continue;
    if (y->op == Op::argument) {
      add_to(of_argument, y->argument, found->second);
      continue;
    }
    const std::vector<Expr> parts = passed_on(y, found->second);
    const std::size_t first = y->op == Op::select ? 1 : 0;  // nothing goes into the condition
    for (std::size_t k = first; k < parts.size(); ++k)
      if (leads_to_argument(y->operands[k], leading)) add_to(gradient, &*y->operands[k], parts[k]);
  }
  std::vector<Expr> result;
  for (const int argument : wanted) {
    const auto found = of_argument.find(argument);
    result.push_back(found == of_argument.end() ? Expr(0) : found->second);
  }
  return result;
}

}  // namespace learn::expr
