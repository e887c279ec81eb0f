#include "framework/autograd/ops/map.h"

#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/kernels/map/map.h"
#include "framework/tensor/convert.h"

#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace learn::ops {

struct MapFunction::Compiled {
  Expr expression;
  const char* name;
  kernels::MapProgram value;
  std::mutex mutex;
  // By the requested arguments, and whether the value is an input.
  std::map<std::pair<std::uint32_t, bool>, kernels::MapProgram> gradients;

  Compiled(const Expr& f, const char* op) : expression(f), name(op), value(kernels::compile(f)) {}
};

MapFunction::MapFunction(const Expr& value, const char* name)
    : compiled_(std::make_shared<Compiled>(value, name)) {
  check<UsageError>(compiled_->value.inputs <= kOperands,
                    "{}: the expression has {} operands, more than {}: map it in parts",
                    name,
                    compiled_->value.inputs,
                    kOperands);
}

bool MapFunction::has_slope_of_value() const noexcept {
  const Expr& f = compiled_->expression;
  switch (f->op) {
    case expr::Op::sqrt:
    case expr::Op::exp:
    case expr::Op::tanh:
    case expr::Op::sigmoid:
      return true;
    case expr::Op::divide:
      return f->operands[1]->op != expr::Op::constant;
    default:
      return false;
  }
}

const char* MapFunction::name() const noexcept { return compiled_->name; }
int MapFunction::operands() const noexcept { return compiled_->value.inputs; }
const kernels::MapProgram& MapFunction::value() const noexcept { return compiled_->value; }

const kernels::MapProgram& MapFunction::gradient(std::uint32_t wanted, bool from_value) const {
  const std::lock_guard lock(compiled_->mutex);
  const auto known = compiled_->gradients.find({wanted, from_value});
  if (known != compiled_->gradients.end()) return known->second;
  std::vector<int> arguments;
  for (int i = 0; i < kOperands; ++i)
    if ((wanted >> static_cast<unsigned>(i) & 1U) != 0) arguments.push_back(i);
  const Expr& f = compiled_->expression;
  const Expr dy = expr::arg(operands());
  const Expr value = from_value ? expr::arg(operands() + 1) : f;
  return compiled_->gradients
      .emplace(std::pair(wanted, from_value),
               kernels::compile(expr::gradients(f, value, dy, arguments)))
      .first->second;
}

namespace {

struct MapNode final : Node {
  MapFunction f;
  std::uint32_t wanted;
  std::vector<Tensor> in;  // undefined where the gradient does without
  Tensor value;            // defined if the gradient uses it
  MapNode(MapFunction function, std::uint32_t of, std::vector<Tensor> operands, Tensor result)
      : f(std::move(function)), wanted(of), in(std::move(operands)), value(std::move(result)) {}

  std::string_view name() const override { return f.name(); }

  void backward(Tape& tape, const Tensor& dy) override {
    // One kernel writes all gradients: to their destinations, or, for a broadcast operand, to a
    // temporary that is summed afterwards.
    std::vector<kernels::MapResult> results;
    std::vector<std::pair<std::size_t, Tensor>> wholes;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if ((wanted >> i & 1U) == 0) continue;
      const Var& x = input(i);
      if (x.shape() == dy.shape()) {
        tape.accumulate(x, [&](Tensor& dx, GradMode mode) { results.push_back({dx, mode}); });
      } else {
        wholes.emplace_back(i, tape.empty(dy.shape(), wide_dtype(x.dtype())));
        results.push_back({wholes.back().second});
      }
    }
    std::vector<Tensor> inputs = in;
    inputs.resize(static_cast<std::size_t>(f.operands()));
    inputs.push_back(dy);
    if (value.defined()) inputs.push_back(value);
    kernels::map(tape.context(), f.gradient(wanted, value.defined()), inputs, results);
    for (const auto& one : wholes)
      tape.accumulate(input(one.first), [&](Tensor& dx, GradMode mode) {
        sum_to(tape.context(), one.second, dx, mode);
      });
  }
};

/// Whether a gradient reads the value instead of computing it again: if `y` has it with all its
/// digits, and keeping it takes no more memory than the operands that are then not needed.
bool uses_value(const MapFunction& f, std::uint32_t wanted, const Context& ctx, const Tensor& y) {
  const bool is_exact = y.dtype() == DType::f64 || (y.dtype() == DType::f32 && !ctx.reference());
  if (!is_exact || !f.has_slope_of_value()) return false;
  const kernels::MapProgram& without = f.gradient(wanted);
  const kernels::MapProgram& with = f.gradient(wanted, true);
  int spared = 0;
  for (int i = 0; i < f.operands(); ++i)
    spared += static_cast<int>(without.reads(i)) - static_cast<int>(with.reads(i));
  return with.reads(f.operands() + 1) && spared >= 1;
}

/// The dtype of the result, and none of whole numbers.
DType result_dtype(const char* op, std::span<const Var> operands) {
  std::optional<DType> dtype;
  for (const Var& x : operands) {
    if (!is_floating(x.dtype()) || dtype == x.dtype()) continue;
    check<DTypeError>(!dtype || (*dtype != DType::f64 && x.dtype() != DType::f64),
                      "{}: dtypes differ: {} and {}; cast one of them",
                      op,
                      *dtype,
                      x.dtype());
    dtype = dtype ? DType::f32 : x.dtype();
  }
  return dtype.value_or(DType::f32);
}

}  // namespace

Var map(const MapFunction& f, std::span<const Var> operands, CastClass cast_class) {
  check<UsageError>(!operands.empty() && operands.size() <= MapFunction::kOperands &&
                        static_cast<int>(operands.size()) >= f.operands(),
                    "{}: the expression has {} operands but got {}; the maximum is {}",
                    f.name(),
                    f.operands(),
                    operands.size(),
                    MapFunction::kOperands);
  if (const std::vector<Var> cast = autocast(cast_class, operands); !cast.empty())
    return map(f, cast, CastClass::given);
  Tape& tape = operands[0].tape();
  std::vector<Shape> shapes;
  std::vector<Tensor> values;
  std::uint32_t wanted = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    shapes.push_back(operands[i].shape());
    values.push_back(operands[i].value());
    if (operands[i].needs_grad() && static_cast<int>(i) < f.operands()) wanted |= 1U << i;
  }
  const Tensor y =
      tape.empty(kernels::broadcast_shape(f.name(), shapes), result_dtype(f.name(), operands));
  kernels::map(tape.context(), f.value(), values, y);
  bool from_value = false;
  if (wanted != 0) {
    from_value = uses_value(f, wanted, tape.context(), y);
    const kernels::MapProgram& gradient = f.gradient(wanted, from_value);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!gradient.reads(static_cast<int>(i))) values[i] = Tensor();
  }
  return tape.record({operands.begin(), operands.end()},
                     y,
                     MapNode(f, wanted, std::move(values), from_value ? y : Tensor()));
}

}  // namespace learn::ops
