#include "framework/kernels/map/map.h"

#include "framework/kernels/map/map_kernels.h"
#include "framework/kernels/map/map_reference.h"
#include "framework/runtime/dispatch.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace learn::kernels {
namespace {

using Strides = std::array<std::int64_t, Shape::kMaxRank>;

Strides dense_strides(const Shape& shape) {
  Strides strides{};
  std::int64_t stride = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    strides[static_cast<std::size_t>(d)] = stride;
    stride *= shape[d];
  }
  return strides;
}

/// Returns the strides of `shape`, broadcast to the dimensions of `whole`.
Strides broadcast_strides(const Shape& shape, const Shape& whole) {
  const Strides own = dense_strides(shape);
  Strides strides{};
  for (int d = 0; d < shape.rank(); ++d)
    if (shape[d] != 1)
      strides[static_cast<std::size_t>(d + whole.rank() - shape.rank())] =
          own[static_cast<std::size_t>(d)];
  return strides;
}

/// Returns whether dimensions d and d + 1 of each input can be merged, because both are repeated or
/// both are not.
bool mergeable(const MapArgs& args, int d) {
  for (int i = 0; i < args.program.inputs; ++i) {
    const std::int64_t* s = args.in[i].strides;
    if (s[d] != s[d + 1] * args.sizes[d + 1]) return false;
  }
  return true;
}

void remove_dim(MapArgs& args, int d) {
  for (int k = d; k + 1 < args.dims; ++k) {
    args.sizes[k] = args.sizes[k + 1];
    for (int i = 0; i < args.program.inputs; ++i) args.in[i].strides[k] = args.in[i].strides[k + 1];
  }
  --args.dims;
}

/// Reduces the dimensions to the fewest that have the same elements at the same positions.
void merge_dims(MapArgs& args) {
  for (int d = args.dims - 1; d >= 0; --d)
    if (args.sizes[d] == 1 && args.dims > 1) remove_dim(args, d);
  for (int d = args.dims - 2; d >= 0; --d) {
    if (!mergeable(args, d)) continue;
    args.sizes[d + 1] *= args.sizes[d];
    remove_dim(args, d);
  }
  for (int i = 0; i < args.program.inputs; ++i) {
    std::int64_t stride = 1;
    args.in[i].dense = true;
    for (int d = args.dims - 1; d >= 0; --d) {
      args.in[i].dense =
          args.in[i].dense && (args.in[i].strides[d] == stride || args.sizes[d] == 1);
      stride *= args.sizes[d];
    }
  }
}

void check_dtype(const char* op, const MapResult& result) {
  check<DTypeError>(is_floating(result.tensor.dtype()),
                    "{}: a result must be floating, not {}",
                    op,
                    result.tensor.dtype());
}

void check_f64(Context& ctx, const char* op, DType dtype, bool is_f64) {
  if (is_f64) check_f64_device(ctx, op, DType::f64);
  check<DTypeError>(!is_floating(dtype) || (dtype == DType::f64) == is_f64,
                    "{}: f64 cannot be mixed with {}: cast one of them",
                    op,
                    dtype == DType::f64 ? name_of(DType::f32) : name_of(dtype));
}

/// Runs a program on checked results and on inputs whose dtype, data and strides are set.
void run(Context& ctx, MapArgs& args, std::span<MapResult> results) {
  const Shape& shape = results[0].tensor.shape();
  args.n = shape.elements();
  if (args.n == 0) return;
  args.dims = std::max(1, shape.rank());
  args.sizes[0] = 1;
  std::copy(shape.begin(), shape.end(), args.sizes);
  merge_dims(args);
  for (std::size_t k = 0; k < results.size(); ++k)
    args.out[k] = {.data = results[k].tensor.raw(),
                   .dtype = results[k].tensor.dtype(),
                   .accumulate = results[k].mode == GradMode::accumulate};
  for (std::size_t k = 0; k < MapProgram::kNumbers; ++k)
    args.number[k] = static_cast<float>(args.program.number[k]);
  if (results[0].tensor.dtype() == DType::f64)
    map(reference::Exec{}, args);
  else
    with_executor(ctx, [&](const auto& exec) { map(exec, args); });
}

void check_copy(Context& ctx, const char* op, const Tensor& x, const MapResult& result) {
  check_dtype(op, result);
  for (const Tensor* tensor : {&x, &result.tensor}) {
    check_f64(ctx, op, tensor->dtype(), result.tensor.dtype() == DType::f64);
    check_device(ctx, op, *tensor);
  }
}

/// Copies elements, which have these strides from `data` on, to a checked result.
void run_copy(
    Context& ctx, const std::byte* data, DType dtype, const Strides& strides, MapResult& result) {
  static const MapProgram kSame = compile(expr::arg(0));
  MapArgs args{.program = kSame};
  args.in[0] = {.data = data, .dtype = dtype};
  std::ranges::copy(strides, args.in[0].strides);
  run(ctx, args, std::span(&result, 1));
}

}  // namespace

Shape broadcast_shape(std::string_view op, std::span<const Shape> shapes) {
  Shape whole;
  for (const Shape& shape : shapes) {
    Shape longer = shape.rank() > whole.rank() ? shape : whole;
    const Shape& other = shape.rank() > whole.rank() ? whole : shape;
    for (int d = -1; d >= -other.rank(); --d) {
      check(longer[d] == other[d] || longer[d] == 1 || other[d] == 1,
            "{}: shapes {} and {} cannot be broadcast together",
            op,
            whole,
            shape);
      if (longer[d] == 1) longer.set(d, other[d]);
    }
    whole = longer;
  }
  return whole;
}

void map(Context& ctx,
         const MapProgram& program,
         std::span<const Tensor> inputs,
         std::span<MapResult> results) {
  constexpr const char* kOp = "map";
  check<UsageError>(static_cast<int>(inputs.size()) >= program.inputs &&
                        inputs.size() <= MapProgram::kInputs &&
                        static_cast<int>(results.size()) == program.outputs,
                    "{}: the program has {} inputs and {} outputs, but got {} and {}",
                    kOp,
                    program.inputs,
                    program.outputs,
                    inputs.size(),
                    results.size());
  const Shape shape = results[0].tensor.shape();
  const bool is_f64 = results[0].tensor.dtype() == DType::f64;
  for (const MapResult& result : results) {
    check(result.tensor.shape() == shape,
          "{}: results of shapes {} and {}",
          kOp,
          shape,
          result.tensor.shape());
    check_dtype(kOp, result);
    check_f64(ctx, kOp, result.tensor.dtype(), is_f64);
    check_device(ctx, kOp, result.tensor);
  }
  MapArgs args{.program = program};
  for (int i = 0; i < program.inputs; ++i) {
    const Tensor& x = inputs[static_cast<std::size_t>(i)];
    if (!program.reads(i)) continue;
    check<UsageError>(x.defined(), "{}: input {} is not defined", kOp, i);
    const std::array both{shape, x.shape()};
    check(broadcast_shape(kOp, both) == shape,
          "{}: input {} of shape {} cannot be broadcast to {}",
          kOp,
          i,
          x.shape(),
          shape);
    check_f64(ctx, kOp, x.dtype(), is_f64);
    check_device(ctx, kOp, x);
    args.in[i] = {.data = x.raw(), .dtype = x.dtype()};
    std::ranges::copy(broadcast_strides(x.shape(), shape), args.in[i].strides);
  }
  run(ctx, args, results);
}

void map(Context& ctx,
         const MapProgram& program,
         std::span<const Tensor> inputs,
         const Tensor& y,
         GradMode mode) {
  MapResult result{y, mode};
  map(ctx, program, inputs, std::span(&result, 1));
}

void one_hot(Context& ctx, const Tensor& classes, Tensor& y) {
  constexpr const char* kOp = "one_hot";
  static const MapProgram kEqual = compile(expr::arg(0) == expr::arg(1));
  Shape column = classes.shape();
  column.push_back(1);
  Shape shape = classes.shape();
  shape.push_back(y.shape().rank() == 0 ? 0 : y.shape()[-1]);
  check(y.shape() == shape, "{}: classes {} cannot be {}", kOp, classes.shape(), y.shape());
  check<DTypeError>(!is_floating(classes.dtype()),
                    "{}: classes must be whole numbers, not {}",
                    kOp,
                    classes.dtype());
  MapResult result{y};
  check_dtype(kOp, result);
  check_f64(ctx, kOp, y.dtype(), y.dtype() == DType::f64);
  check_device(ctx, kOp, classes);
  check_device(ctx, kOp, y);
  MapArgs args{.program = kEqual};
  args.in[0] = {.data = classes.raw(), .dtype = classes.dtype()};
  args.in[1] = {.dtype = DType::i64};  // the index in the last dimension
  std::ranges::copy(broadcast_strides(column, shape), args.in[0].strides);
  std::ranges::copy(broadcast_strides({shape[-1]}, shape), args.in[1].strides);
  run(ctx, args, std::span(&result, 1));
}

void slice(Context& ctx, const Tensor& x, std::span<const Slice> slices, Tensor& y, GradMode mode) {
  constexpr const char* kOp = "slice";
  const Shape& from = x.shape();
  check(slices.size() == static_cast<std::size_t>(from.rank()) && y.shape().rank() == from.rank(),
        "{}: {} slices of {} cannot make {}",
        kOp,
        slices.size(),
        from,
        y.shape());
  MapResult result{y, mode};
  check_copy(ctx, kOp, x, result);
  Strides strides = dense_strides(from);
  std::int64_t offset = 0;
  for (int d = 0; d < from.rank(); ++d) {
    const auto& [first, step] = slices[static_cast<std::size_t>(d)];
    const std::int64_t count = y.shape()[d];
    const std::int64_t last = first + step * (count - 1);
    check(count == 0 || (std::min(first, last) >= 0 && std::max(first, last) < from[d]),
          "{}: {} elements from {} on in steps of {} leave dimension {} of {}",
          kOp,
          count,
          first,
          step,
          d,
          from);
    std::int64_t& stride = strides[static_cast<std::size_t>(d)];
    offset += first * stride;
    stride *= step;
  }
  run_copy(ctx,
           x.raw() + offset * static_cast<std::int64_t>(size_of(x.dtype())),
           x.dtype(),
           strides,
           result);
}

void permute(Context& ctx, const Tensor& x, std::span<const int> order, Tensor& y, GradMode mode) {
  constexpr const char* kOp = "permute";
  const Strides strides = dense_strides(x.shape());
  const auto rank = static_cast<std::size_t>(x.shape().rank());
  Strides permuted{};
  Shape shape;
  std::array<bool, Shape::kMaxRank> seen{};
  check(order.size() == rank,
        "{}: the order has {} dimensions, but the tensor is {}",
        kOp,
        order.size(),
        x.shape());
  for (std::size_t d = 0; d < rank; ++d) {
    check(order[d] >= 0 && order[d] < x.shape().rank() &&
              !seen.at(static_cast<std::size_t>(order[d])),
          "{}: the order must contain each of the {} dimensions once, but dimension {} is missing "
          "or repeated",
          kOp,
          rank,
          order[d]);
    seen.at(static_cast<std::size_t>(order[d])) = true;
    permuted.at(d) = strides.at(static_cast<std::size_t>(order[d]));
    shape.push_back(x.shape()[order[d]]);
  }
  check(y.shape() == shape,
        "{}: the result of {} must be {}, not {}",
        kOp,
        x.shape(),
        shape,
        y.shape());
  MapResult result{y, mode};
  check_copy(ctx, kOp, x, result);
  run_copy(ctx, x.raw(), x.dtype(), permuted, result);
}

}  // namespace learn::kernels
