#include "framework/autograd/autocast.h"
#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/kernels/elementwise/elementwise.h"

#include <utility>

namespace learn::ops {
namespace {

struct ReshapeNode final : Node {
  std::string_view name() const override { return "reshape"; }
  void backward(Tape& tape, const Tensor& dy) override { tape.pass_on(input(0), dy); }
};

struct ConcatNode final : Node {
  int axis;
  std::int64_t outer;
  std::vector<std::int64_t> offsets;
  ConcatNode(int along, std::int64_t rows, std::vector<std::int64_t> columns)
      : axis(along), outer(rows), offsets(std::move(columns)) {}
  std::string_view name() const override { return "concat"; }
  void backward(Tape& tape, const Tensor& dy) override {
    if (dy.elements() == 0) return;
    for (std::size_t i = 0; i < offsets.size(); ++i)
      tape.accumulate(input(i), [&](Tensor& dx, GradMode mode) {
        kernels::copy_from_columns(tape.context(), dy, dx, outer, offsets[i], mode);
      });
  }
  OpAttributes attributes() const override { return ConcatAttributes{axis}; }
};

/// The shape of the concatenation. Throws unless all parts agree in all but `axis`.
Shape joined_shape(std::span<const Var> parts, int axis) {
  Shape out = parts[0].shape();
  for (const Var& part : parts.subspan(1)) {
    Shape like = part.shape();
    const bool fits = like.rank() == out.rank();
    if (fits) like.set(axis, out[axis]);
    check(fits && like == out,
          "concat: {} cannot follow {} along dimension {}",
          part.shape(),
          out,
          axis);
    check<DTypeError>(part.dtype() == parts[0].dtype(),
                      "concat: dtypes differ: {} and {}",
                      part.dtype(),
                      parts[0].dtype());
    out.set(axis, out[axis] + part.shape()[axis]);
  }
  return out;
}

}  // namespace

Var reshape(const Var& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return x.tape().record({x}, x.value().view(shape), ReshapeNode());
}

Var flatten(const Var& x) {
  const Shape& shape = x.shape();
  check(shape.rank() >= 1, "flatten: a scalar has no batch dimension");
  const std::int64_t rows = shape[0];
  std::int64_t rest = 1;
  for (int i = 1; i < shape.rank(); ++i) rest *= shape[i];
  return reshape(x, {rows, rest});
}

Var concat(std::span<const Var> parts, int axis) {
  check<UsageError>(!parts.empty(), "concat: nothing to join");
  const int rank = parts[0].shape().rank();
  check<UsageError>(
      axis >= -rank && axis < rank, "concat: dimension {} of a tensor of rank {}", axis, rank);
  if (axis < 0) axis += rank;
  if (const std::vector<Var> cast = autocast(cast_class("concat"), parts); !cast.empty())
    return concat(cast, axis);
  Tape& tape = parts[0].tape();
  const Shape shape = joined_shape(parts, axis);
  std::int64_t outer = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  Tensor y = tape.empty(shape, parts[0].dtype());
  std::vector<std::int64_t> offsets;
  std::int64_t offset = 0;
  for (const Var& part : parts) {
    offsets.push_back(offset);
    if (y.elements() == 0) continue;
    kernels::copy_into_columns(tape.context(), part.value(), y, outer, offset);
    offset += part.value().elements() / outer;
  }
  return tape.record({parts.begin(), parts.end()}, y, ConcatNode(axis, outer, std::move(offsets)));
}

}  // namespace learn::ops
