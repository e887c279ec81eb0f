#include "framework/kernels/map/program.h"

#include "framework/core/error.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace learn::kernels {
namespace {

using expr::Op;

/// A value of the program before it is assigned a register. Equal values are stored once.
struct Value {
  Op op;
  std::uint64_t bits = 0;  ///< of a number; or the index of an argument
  std::array<int, 3> in{-1, -1, -1};
  friend bool operator<(const Value& a, const Value& b) {
    return std::tie(a.op, a.bits, a.in) < std::tie(b.op, b.bits, b.in);
  }
};

/// Lists values in an order in which operands come first.
class Values {
 public:
  int number_of(const Expr& x) {
    if (const auto known = of_node_.find(&*x); known != of_node_.end()) return known->second;
    Value value{.op = x->op};
    if (x->op == Op::constant) value.bits = std::bit_cast<std::uint64_t>(x->number);
    if (x->op == Op::argument) value.bits = static_cast<std::uint64_t>(x->argument);
    // The deepest operand comes first. It needs the most registers, and the others can wait for its
    // result.
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < x->operands.size(); ++i) order.push_back(i);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return x->operands[a]->depth > x->operands[b]->depth;
    });
    for (const std::size_t i : order) value.in.at(i) = number_of(x->operands[i]);
    const auto [at, added] = known_.emplace(value, static_cast<int>(list.size()));
    if (added) list.push_back(value);
    of_node_.emplace(&*x, at->second);
    return at->second;
  }

  std::vector<Value> list;

 private:
  std::unordered_map<const Expr::Node*, int> of_node_;
  std::map<Value, int> known_;
};

/// Returns the index of the last value that uses each value. An output is in use to the end.
std::vector<int> last_uses(const std::vector<Value>& values, const std::vector<int>& outputs) {
  std::vector<int> last(values.size(), -1);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (const int in : values[i].in)
      if (in >= 0) last[static_cast<std::size_t>(in)] = static_cast<int>(i);
  for (const int output : outputs)
    last[static_cast<std::size_t>(output)] = static_cast<int>(values.size());
  return last;
}

void check_limit(std::string_view what, std::size_t needed, int limit) {
  check<UsageError>(needed <= static_cast<std::size_t>(limit),
                    "map: the expression needs {} {}, more than {}: map it in parts",
                    needed,
                    what,
                    limit);
}

class Compiler {
 public:
  explicit Compiler(std::span<const Expr> outputs) {
    check<UsageError>(!outputs.empty(), "map: the list of expressions is empty");
    check_limit("outputs", outputs.size(), MapProgram::kOutputs);
    for (const Expr& output : outputs) outputs_.push_back(values_.number_of(output));
  }

  MapProgram compile() {
    const std::vector<int> last = last_uses(values_.list, outputs_);
    place_.resize(values_.list.size());
    for (std::size_t i = 0; i < values_.list.size(); ++i) {
      const Value& value = values_.list[i];
      if (value.op == Op::constant)
        place_[i] = number(std::bit_cast<double>(value.bits));
      else
        emit(value, static_cast<int>(i), last);
    }
    check_limit("registers", used_.size(), MapProgram::kRegisters);
    program_.registers = static_cast<int>(used_.size());
    for (const int output : outputs_)
      program_.output.at(static_cast<std::size_t>(program_.outputs++)) =
          place_[static_cast<std::size_t>(output)];
    return program_;
  }

 private:
  std::uint8_t number(double value) {
    check_limit("numbers", static_cast<std::size_t>(program_.numbers) + 1, MapProgram::kNumbers);
    program_.number.at(static_cast<std::size_t>(program_.numbers)) = value;
    return static_cast<std::uint8_t>(MapProgram::kRegisters + program_.numbers++);
  }

  /// Returns the first free register, adding one if necessary.
  std::uint8_t free_register() {
    const auto found = std::ranges::find(used_, false);
    const auto at = static_cast<std::uint8_t>(found - used_.begin());
    if (found == used_.end())
      used_.push_back(true);
    else
      *found = true;
    return at;
  }

  void emit(const Value& value, int at, const std::vector<int>& last) {
    MapInstruction made{.op = value.op, .to = 0, .a = 0, .b = 0, .c = 0};
    const std::array places{&made.a, &made.b, &made.c};
    if (value.op == Op::argument) {
      check_limit("inputs", static_cast<std::size_t>(value.bits) + 1, MapProgram::kInputs);
      made.a = static_cast<std::uint8_t>(value.bits);
      program_.inputs = std::max(program_.inputs, static_cast<int>(value.bits) + 1);
    }
    for (std::size_t k = 0; k < places.size(); ++k) {
      const int in = value.in.at(k);
      if (in < 0) continue;
      *places.at(k) = place_[static_cast<std::size_t>(in)];
      if (last[static_cast<std::size_t>(in)] == at && *places.at(k) < MapProgram::kRegisters)
        used_[*places.at(k)] = false;
    }
    made.to = free_register();
    check_limit("registers", used_.size(), MapProgram::kRegisters);
    place_[static_cast<std::size_t>(at)] = made.to;
    const auto next = static_cast<std::size_t>(program_.instructions++);
    check_limit("instructions", next + 1, MapProgram::kInstructions);
    program_.code.at(next) = made;
  }

  Values values_;
  std::vector<int> outputs_;
  std::vector<std::uint8_t> place_;  // of values
  std::vector<bool> used_;           // registers
  MapProgram program_;
};

}  // namespace

bool MapProgram::reads(int i) const noexcept {
  return std::any_of(code.begin(), code.begin() + instructions, [i](const MapInstruction& one) {
    return one.op == Op::argument && one.a == i;
  });
}

MapProgram compile(std::span<const Expr> outputs) { return Compiler(outputs).compile(); }
MapProgram compile(const Expr& output) { return compile(std::span(&output, 1)); }

}  // namespace learn::kernels
