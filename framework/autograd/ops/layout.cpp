#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/kernels/cast/fill.h"
#include "framework/kernels/elementwise/elementwise.h"
#include "framework/kernels/map/map.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace learn::ops {
namespace {

/// Counted from the front.
int axis_of(std::string_view op, const Shape& shape, int axis) {
  check<UsageError>(axis >= -shape.rank() && axis < shape.rank(),
                    "{}: there is no axis {} in {}",
                    op,
                    axis,
                    shape);
  return axis < 0 ? axis + shape.rank() : axis;
}

struct SliceNode final : Node {
  std::int64_t outer, offset;
  SliceNode(std::int64_t rows, std::int64_t first) : outer(rows), offset(first) {}
  std::string_view name() const override { return "slice"; }
  void backward(Tape& tape, const Tensor& dy) override {
    if (!input(0).needs_grad()) return;
    Tensor dx = tape.empty(input(0).shape(), dy.dtype());
    kernels::fill(tape.context(), dx, 0);
    if (dy.elements() > 0) kernels::copy_into_columns(tape.context(), dy, dx, outer, offset);
    tape.pass_on(input(0), dx);
  }
};

struct PermuteNode final : Node {
  std::vector<int> inverse;
  explicit PermuteNode(std::vector<int> back) : inverse(std::move(back)) {}
  std::string_view name() const override { return "permute"; }
  void backward(Tape& tape, const Tensor& dy) override {
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      kernels::permute(tape.context(), dy, inverse, dx, mode);
    });
  }
};

}  // namespace

Var slice(const Var& x, int axis, std::int64_t begin, std::int64_t end) {
  const Shape& shape = x.shape();
  const int d = axis_of("slice", shape, axis);
  const std::int64_t extent = shape[d];
  const std::int64_t first = begin < 0 ? begin + extent : begin;
  const std::int64_t last = end < 0 ? end + extent : end;
  check<UsageError>(first >= 0 && first <= last && last <= extent,
                    "slice: [{}, {}) of axis {} of {}, whose extent is {}",
                    begin,
                    end,
                    axis,
                    shape,
                    extent);
  if (first == 0 && last == extent) return x;
  std::int64_t outer = 1;
  for (int i = 0; i < d; ++i) outer *= shape[i];
  Shape part = shape;
  part.set(d, last - first);
  Tape& tape = x.tape();
  Tensor y = tape.empty(part, x.dtype());
  const std::int64_t offset = outer == 0 ? 0 : x.value().elements() / outer / extent * first;
  if (y.elements() > 0)
    kernels::copy_from_columns(tape.context(), x.value(), y, outer, offset, GradMode::overwrite);
  return tape.record({x}, y, SliceNode(outer, offset));
}

Var transpose(const Var& x, int a, int b) {
  std::vector<int> order(static_cast<std::size_t>(x.shape().rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order.at(static_cast<std::size_t>(axis_of("transpose", x.shape(), a))),
            order.at(static_cast<std::size_t>(axis_of("transpose", x.shape(), b))));
  return permute(x, std::move(order));
}

Var permute(const Var& x, std::vector<int> order) {
  const Shape& shape = x.shape();
  for (int& d : order) d = axis_of("permute", shape, d);
  std::vector<int> inverse(order.size());
  Shape permuted;
  bool fits = order.size() == static_cast<std::size_t>(shape.rank());
  for (std::size_t i = 0; i < order.size(); ++i) {
    fits = fits && std::ranges::count(order, order[i]) == 1;
    if (fits) inverse.at(static_cast<std::size_t>(order[i])) = static_cast<int>(i);
    permuted.push_back(shape[order[i]]);
  }
  check<UsageError>(fits,
                    "permute: the order must contain each of the {} dimensions of {} once",
                    shape.rank(),
                    shape);
  Tape& tape = x.tape();
  Tensor y = tape.empty(permuted, x.dtype());
  kernels::permute(tape.context(), x.value(), order, y, GradMode::overwrite);
  return tape.record({x}, y, PermuteNode(std::move(inverse)));
}

}  // namespace learn::ops
