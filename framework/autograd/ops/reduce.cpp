#include "framework/kernels/reduce/reduce.h"

#include "framework/autograd/autocast.h"
#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/kernels/cast/cast.h"
#include "framework/kernels/common/bias.h"
#include "framework/kernels/loss/softmax_cross_entropy.h"
#include "framework/kernels/map/map.h"
#include "framework/kernels/reduce/reduce_axes.h"
#include "framework/tensor/convert.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace learn::ops {
namespace {

using kernels::MapProgram;
using kernels::Reduction;
using kernels::SoftmaxForm;

/// The shapes of a reduction over axes: with their extents 1, and without them.
struct ReducedShape {
  Shape kept, squeezed;
  std::int64_t count = 1;  ///< elements that become one
};

ReducedShape reduced_shape(std::string_view op, const Shape& x, const Axes& axes) {
  check<UsageError>(!axes.empty(), "{}: no axis of {} is given", op, x);
  std::array<bool, Shape::kMaxRank> reduced{};
  for (const int axis : axes) {
    check<UsageError>(
        axis >= -x.rank() && axis < x.rank(), "{}: there is no axis {} in {}", op, axis, x);
    bool& taken = reduced.at(static_cast<std::size_t>(axis < 0 ? axis + x.rank() : axis));
    check<UsageError>(!taken, "{}: axis {} of {} is named twice", op, axis, x);
    taken = true;
  }
  ReducedShape shape;
  for (int d = 0; d < x.rank(); ++d) {
    const bool goes = reduced.at(static_cast<std::size_t>(d));
    shape.kept.push_back(goes ? 1 : x[d]);
    if (goes)
      shape.count *= x[d];
    else
      shape.squeezed.push_back(x[d]);
  }
  return shape;
}

struct SumAxesNode final : Node {
  std::string_view op;
  Shape kept;
  double factor;
  SumAxesNode(std::string_view name, const Shape& shape, double f)
      : op(name), kept(shape), factor(f) {}
  std::string_view name() const override { return op; }
  void backward(Tape& tape, const Tensor& dy) override {
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      const std::array in{dy.view(kept)};
      kernels::map(tape.context(), kernels::compile(expr::arg(0) * factor), in, dx, mode);
    });
  }
};

struct ExtremeNode final : Node {
  std::string_view op;
  Tensor x, y;  ///< y with its axes kept
  ExtremeNode(std::string_view name, Tensor from, Tensor extreme)
      : op(name), x(std::move(from)), y(std::move(extreme)) {}
  std::string_view name() const override { return op; }
  void backward(Tape& tape, const Tensor& dy) override {
    static const MapProgram kIsExtreme = kernels::compile(expr::arg(0) == expr::arg(1));
    static const MapProgram kShare =
        kernels::compile((expr::arg(0) == expr::arg(1)) * (expr::arg(2) / expr::arg(3)));
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      Tensor equal = tape.empty(x.shape(), wide_dtype(x.dtype()));
      Tensor count = tape.empty(y.shape(), equal.dtype());
      const std::array both{x, y};
      kernels::map(tape.context(), kIsExtreme, both, equal);
      kernels::reduce_axes(tape.context(), Reduction::sum, equal, 1, count);
      const std::array all{x, y, dy.view(y.shape()), count};
      kernels::map(tape.context(), kShare, all, dx, mode);
    });
  }
};

Var sum_over(std::string_view op, const Var& x, const Axes& axes, bool keepdim, bool mean) {
  const ReducedShape shape = reduced_shape(op, x.shape(), axes);
  check(!mean || shape.count > 0, "{}: shape {} has no elements there", op, x.shape());
  const double factor = mean ? 1 / static_cast<double>(shape.count) : 1;
  Tape& tape = x.tape();
  Tensor y = tape.empty(shape.kept, x.dtype());
  kernels::reduce_axes(tape.context(), Reduction::sum, x.value(), factor, y);
  return tape.record(
      {x}, keepdim ? y : y.view(shape.squeezed), SumAxesNode(op, shape.kept, factor));
}

Var extreme(
    std::string_view op, Reduction reduction, const Var& x, const Axes& axes, bool keepdim) {
  const ReducedShape shape = reduced_shape(op, x.shape(), axes);
  Tape& tape = x.tape();
  Tensor y = tape.empty(shape.kept, x.dtype());
  kernels::reduce_axes(tape.context(), reduction, x.value(), 1, y);
  return tape.record({x}, keepdim ? y : y.view(shape.squeezed), ExtremeNode(op, x.value(), y));
}

/// Returns the shape of all rows of the last dimension.
Shape rows_of(const Shape& x) { return {x.elements() / x[-1], x[-1]}; }

struct SoftmaxNode final : Node {
  Tensor y;
  SoftmaxForm form;
  SoftmaxNode(Tensor result, SoftmaxForm of) : y(std::move(result)), form(of) {}
  std::string_view name() const override {
    return form == SoftmaxForm::logarithms ? "log_softmax" : "softmax";
  }
  void backward(Tape& tape, const Tensor& dy) override {
    const Shape rows = rows_of(y.shape());
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      Tensor to = dx.view(rows);
      kernels::softmax_backward(tape.context(), form, y.view(rows), dy.view(rows), to, mode);
    });
  }
};

Var softmax_of(const Var& x, SoftmaxForm form) {
  Tape& tape = x.tape();
  const bool logarithms = form == SoftmaxForm::logarithms;
  check(x.shape().rank() >= 1 && x.shape()[-1] > 0,
        "{}: shape {} has no classes",
        logarithms ? "log_softmax" : "softmax",
        x.shape());
  const Tensor logits = x.value().view(rows_of(x.shape()));
  Tensor wide = tape.empty(logits.shape(), wide_dtype(x.dtype()));
  if (logarithms)
    kernels::log_softmax(tape.context(), logits, wide);
  else
    kernels::softmax(tape.context(), logits, wide);
  Tensor y = wide.view(x.shape());
  if (wide.dtype() != x.dtype()) {
    y = tape.empty(x.shape(), x.dtype());
    kernels::cast(tape.context(), wide.view(x.shape()), y);
  }
  return tape.record({x}, y, SoftmaxNode(y, form));
}

/// Whether `sum` has the last dimensions of `whole`, and nothing else is repeated but what is
/// before them.
bool is_trailing(const Shape& sum, const Shape& whole) {
  std::int64_t elements = 1;
  for (int d = -1; d >= -sum.rank() && elements < sum.elements(); --d) {
    if (sum[d] != whole[d]) return false;
    elements *= sum[d];
  }
  return elements > 1;
}

}  // namespace

Var sum(const Var& x, const Axes& axes, bool keepdim) {
  if (const auto cast = autocast(cast_class("sum"), x)) return sum((*cast)[0], axes, keepdim);
  return sum_over("sum", x, axes, keepdim, false);
}
Var mean(const Var& x, const Axes& axes, bool keepdim) {
  if (const auto cast = autocast(cast_class("mean"), x)) return mean((*cast)[0], axes, keepdim);
  return sum_over("mean", x, axes, keepdim, true);
}
Var max(const Var& x, const Axes& axes, bool keepdim) {
  return extreme("max", Reduction::max, x, axes, keepdim);
}
Var min(const Var& x, const Axes& axes, bool keepdim) {
  return extreme("min", Reduction::min, x, axes, keepdim);
}

Var softmax(const Var& x) {
  if (const auto cast = autocast(cast_class("softmax"), x)) return softmax((*cast)[0]);
  return softmax_of(x, SoftmaxForm::probabilities);
}
Var log_softmax(const Var& x) {
  if (const auto cast = autocast(cast_class("log_softmax"), x)) return log_softmax((*cast)[0]);
  return softmax_of(x, SoftmaxForm::logarithms);
}

void sum_to(Context& ctx, const Tensor& whole, Tensor& sum, GradMode mode) {
  const bool direct = sum.dtype() == whole.dtype() && mode == GradMode::overwrite;
  Tensor total = direct ? sum : Tensor(ctx.step(), sum.shape(), whole.dtype());
  const std::int64_t n = sum.elements();
  if (n == 1) {
    kernels::sum(ctx, whole, 1, total);
  } else if (is_trailing(sum.shape(), whole.shape())) {
    Tensor columns = total.view({n});
    kernels::bias_backward(
        ctx, whole.view({whole.elements() / n, n}), columns, GradMode::overwrite);
  } else {
    Shape kept;
    for (int d = 0; d < whole.shape().rank(); ++d) {
      const int own = d - (whole.shape().rank() - sum.shape().rank());
      kept.push_back(own < 0 ? 1 : sum.shape()[own]);
    }
    Tensor shaped = total.view(kept);
    kernels::reduce_axes(ctx, Reduction::sum, whole, 1, shaped);
  }
  if (!direct) kernels::cast(ctx, total, sum, mode);
}

}  // namespace learn::ops
