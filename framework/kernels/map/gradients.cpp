#include "framework/kernels/map/expression.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace learn::expr {
namespace {

using Node = Expr::Node;

/// Lists each node once, with operands before the nodes that use them.
void list_nodes(const Expr& x, std::unordered_set<const Node*>& seen, std::vector<Expr>& order) {
  if (!seen.insert(&*x).second) return;
  for (const Expr& operand : x->operands) list_nodes(operand, seen, order);
  order.push_back(x);
}

/// A condition of a branch: `condition` is not 0 if `holds`, otherwise it is 0.
struct Guard {
  Expr condition;
  bool holds;
  bool operator==(const Guard& other) const {
    return &*condition == &*other.condition && holds == other.holds;
  }
};

/// The share of a derivative that an operand gets: `value` where all guards hold, and 0 elsewhere
/// for any `value`. It is masked only where it ends or meets another share. If it were masked
/// earlier, the 0 of a branch that is not taken, times an infinite derivative along the path, would
/// be NaN.
struct Flow {
  Expr value;
  std::vector<Guard> guards{};
};

Expr masked(const Flow& flow) {
  Expr value = flow.value;
  for (std::size_t i = flow.guards.size(); i-- > 0;) {
    const auto& [condition, holds] = flow.guards[i];
    value = holds ? select(condition, value, 0) : select(condition, 0, value);
  }
  return value;
}

/// Returns 1 where the guards hold, otherwise 0.
Expr is_taken(const Flow& flow) { return masked({1, flow.guards}); }

/// Returns whether the two are the two branches of one choice.
bool are_alternatives(const Flow& a, const Flow& b) {
  if (a.guards.empty() || a.guards.size() != b.guards.size()) return false;
  const Guard& last = b.guards.back();
  return a.guards.back() == Guard{last.condition, !last.holds} &&
         std::equal(a.guards.begin(), a.guards.end() - 1, b.guards.begin());
}

Flow sum_of(const Flow& a, const Flow& b) {
  if (a.guards == b.guards) return {a.value + b.value, a.guards};
  if (are_alternatives(a, b)) {
    const auto& [condition, holds] = a.guards.back();
    return {holds ? select(condition, a.value, b.value) : select(condition, b.value, a.value),
            {a.guards.begin(), a.guards.end() - 1}};
  }
  Flow sum{masked(a) + masked(b)};
  if (!a.guards.empty() && !b.guards.empty())
    sum.guards = {{select(is_taken(a), 1, is_taken(b)), true}};
  return sum;
}

/// Returns the shares of `dy` that the operands of `f`, whose value is `y`, get, in their order,
/// without trailing operands that get nothing. The guards are those that `f` adds to the guards of
/// `dy`.
std::vector<Flow> passed_on(const Expr& f, const Expr& y, const Expr& dy) {
  const std::vector<Expr>& in = f->operands;
  // The operand that is the result gets all of it; if both are equal, each gets half.
  const auto to_chosen = [&](const Expr& other_is_chosen) -> Flow {
    return {dy * select(in[0] == in[1], 0.5, 1), {{other_is_chosen, false}}};
  };
  switch (f->op) {
    case Op::argument:
    case Op::constant:
    case Op::sign:
    case Op::less:
    case Op::less_equal:
    case Op::equal:
      return {};
    case Op::negate:
      return {{-dy}};
    case Op::abs:
      return {{dy * sign(in[0])}};
    case Op::sqrt:
      return {{dy / (2 * y)}};
    case Op::exp:
      return {{dy * y}};
    case Op::log:
      return {{dy / in[0]}};
    case Op::log1p:
      return {{dy / (in[0] + 1)}};
    case Op::sin:
      return {{dy * cos(in[0])}};
    case Op::cos:
      return {{-dy * sin(in[0])}};
    case Op::tanh:
      return {{dy * (1 - y * y)}};
    case Op::sigmoid:
      return {{dy * ((1 - y) * y)}};
    case Op::add:
      return {{dy}, {dy}};
    case Op::subtract:
      return {{dy}, {-dy}};
    case Op::multiply:
      return {{dy * in[1]}, {dy * in[0]}};
    case Op::divide:
      return {{dy / in[1]}, {-dy * (y / in[1])}};
    case Op::pow:
      return {{dy * (in[1] * pow(in[0], in[1] - 1)), {{in[1] == 0, false}}},
              {dy * (y * log(in[0])), {{(in[0] == 0) * (0 <= in[1]), false}}}};
    case Op::minimum:
      return {to_chosen(in[1] < in[0]), to_chosen(in[0] < in[1])};
    case Op::maximum:
      return {to_chosen(in[0] < in[1]), to_chosen(in[1] < in[0])};
    case Op::clamp: {
      const Expr is_low = in[0] <= in[1];
      const Expr is_high = in[2] <= in[0];
      return {Flow{dy, {{is_low, false}, {is_high, false}}},
              Flow{dy, {{is_low, true}}},
              Flow{dy, {{is_low, false}, {is_high, true}}}};
    }
    case Op::select:
      return {{0}, {dy, {{in[0], true}}}, {dy, {{in[0], false}}}};
  }
  return {};
}

bool leads_to_argument(const Expr& x, const std::unordered_set<const Node*>& leading) {
  return leading.contains(&*x);
}

}  // namespace

std::vector<Expr> gradients(const Expr& f,
                            const Expr& value,
                            const Expr& dy,
                            std::span<const int> wanted) {
  std::unordered_set<const Node*> seen;
  std::vector<Expr> order;
  list_nodes(f, seen, order);
  // Nodes that contain one of the given arguments. Other nodes need no derivative.
  std::unordered_set<const Node*> leading;
  for (const Expr& x : order)
    if ((x->op == Op::argument && std::ranges::find(wanted, x->argument) != wanted.end()) ||
        std::ranges::any_of(x->operands,
                            [&](const Expr& in) { return leads_to_argument(in, leading); }))
      leading.insert(&*x);

  std::unordered_map<const Node*, Flow> gradient;
  std::unordered_map<int, Flow> of_argument;  // an argument may occur more than once
  gradient.emplace(&*f, Flow{dy});
  const auto add_to = [](auto& sums, const auto& key, const Flow& part) {
    const auto [at, first] = sums.emplace(key, part);
    if (!first) at->second = sum_of(at->second, part);
  };
  for (std::size_t i = order.size(); i-- > 0;) {
    const Expr& y = order[i];
    const auto found = gradient.find(&*y);
    if (found == gradient.end() || !leads_to_argument(y, leading)) continue;
    if (y->op == Op::argument) {
      add_to(of_argument, y->argument, found->second);
      continue;
    }
    const Flow got = found->second;
    std::vector<Flow> parts = passed_on(y, &*y == &*f ? value : y, got.value);
    const std::size_t first = y->op == Op::select ? 1 : 0;  // the condition gets no derivative
    for (std::size_t k = first; k < parts.size(); ++k)
      if (leads_to_argument(y->operands[k], leading)) {
        parts[k].guards.insert(parts[k].guards.begin(), got.guards.begin(), got.guards.end());
        add_to(gradient, &*y->operands[k], parts[k]);
      }
  }
  std::vector<Expr> result;
  for (const int argument : wanted) {
    const auto found = of_argument.find(argument);
    result.push_back(found == of_argument.end() ? Expr(0) : masked(found->second));
  }
  return result;
}

}  // namespace learn::expr
