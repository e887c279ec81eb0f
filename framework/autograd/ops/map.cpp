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
  std::map<std::uint32_t, kernels::MapProgram> gradients;  // by the requested arguments

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

const char* MapFunction::name() const noexcept { return compiled_->name; }
int MapFunction::operands() const noexcept { return compiled_->value.inputs; }
const kernels::MapProgram& MapFunction::value() const noexcept { return compiled_->value; }

const kernels::MapProgram& MapFunction::gradient(std::uint32_t wanted) const {
  const std::lock_guard lock(compiled_->mutex);
  const auto known = compiled_->gradients.find(wanted);
  if (known != compiled_->gradients.end()) return known->second;
  std::vector<int> arguments;
  for (int i = 0; i < kOperands; ++i)
    if ((wanted >> static_cast<unsigned>(i) & 1U) != 0) arguments.push_back(i);
  const Expr dy = expr::arg(operands());
  return compiled_->gradients
      .emplace(wanted, kernels::compile(expr::gradients(compiled_->expression, dy, arguments)))
      .first->second;
}

namespace {

struct MapNode final : Node {
  MapFunction f;
  std::uint32_t wanted;
  std::vector<Tensor> in;  // undefined where the gradient does without
  MapNode(MapFunction function, std::uint32_t of, std::vector<Tensor> operands)
      : f(std::move(function)), wanted(of), in(std::move(operands)) {}

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
    kernels::map(tape.context(), f.gradient(wanted), inputs, results);
    for (const auto& one : wholes)
      tape.accumulate(input(one.first), [&](Tensor& dx, GradMode mode) {
        sum_to(tape.context(), one.second, dx, mode);
      });
  }
};

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
  if (wanted != 0) {
    const kernels::MapProgram& gradient = f.gradient(wanted);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!gradient.reads(static_cast<int>(i))) values[i] = Tensor();
  }
  return tape.record({operands.begin(), operands.end()}, y, MapNode(f, wanted, std::move(values)));
}

}  // namespace learn::ops
