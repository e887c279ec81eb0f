#include "framework/kernels/elementwise/elementwise.h"

#include "framework/kernels/common/cuda/bias.h"
#include "framework/kernels/elementwise/elementwise_kernels.h"
#include "framework/kernels/elementwise/elementwise_reference.h"
#include "framework/runtime/dispatch.h"

namespace learn::kernels {
namespace {

struct Matrix {
  std::int64_t rows, columns;
};

Matrix check_bias(std::string_view op, const Tensor& x, const Tensor& bias) {
  check(x.shape().rank() >= 1 && bias.shape() == Shape{x.shape()[-1]},
        "{}: a bias of shape {} does not fit {}",
        op,
        bias.shape(),
        x.shape());
  check<DTypeError>(
      x.dtype() == bias.dtype(), "{}: dtypes differ: {} and {}", op, x.dtype(), bias.dtype());
  const std::int64_t channels = x.shape()[-1];
  return {channels == 0 ? 0 : x.elements() / channels, channels};
}

Columns check_columns(const Tensor& part,
                      const Tensor& whole,
                      std::int64_t outer,
                      std::int64_t offset) {
  check<DTypeError>(part.dtype() == whole.dtype(),
                    "concat: dtypes differ: {} and {}",
                    part.dtype(),
                    whole.dtype());
  check(outer > 0 && part.elements() % outer == 0 && whole.elements() % outer == 0,
        "concat: {} and {} must have {} rows",
        part.shape(),
        whole.shape(),
        outer);
  const Columns c{outer, part.elements() / outer, whole.elements() / outer, offset};
  check(offset >= 0 && offset + c.inner <= c.width,
        "concat: columns [{}, {}) of {}",
        offset,
        offset + c.inner,
        c.width);
  return c;
}

}  // namespace

void add(Context& ctx, const Tensor& a, const Tensor& b, Tensor& y) {
  check_same("add", a, b);
  check_same("add", a, y);
  check_device(ctx, "add", a);
  dispatch(ctx, "add", a.dtype(), [&]<class T>(const auto& exec) {
    add(exec, a.data<T>(), b.data<T>(), y.data<T>(), a.elements());
  });
}

void multiply(Context& ctx, const Tensor& a, const Tensor& b, Tensor& y, GradMode mode) {
  check_same("multiply", a, b);
  check_same("multiply", a, y);
  check_device(ctx, "multiply", a);
  dispatch(ctx, "multiply", a.dtype(), [&]<class T>(const auto& exec) {
    multiply(exec, a.data<T>(), b.data<T>(), y.data<T>(), mode, a.elements());
  });
}

void scale(Context& ctx, const Tensor& x, double factor, Tensor& y, GradMode mode) {
  check_same("scale", x, y);
  check_device(ctx, "scale", x);
  dispatch(ctx, "scale", x.dtype(), [&]<class T>(const auto& exec) {
    scale(exec, x.data<T>(), factor, y.data<T>(), mode, x.elements());
  });
}

void add_bias(Context& ctx, const Tensor& x, const Tensor& bias, Tensor& y) {
  const Matrix m = check_bias("add_bias", x, bias);
  check_same("add_bias", x, y);
  check_device(ctx, "add_bias", x);
  dispatch(ctx, "add_bias", x.dtype(), [&]<class T>(const auto& exec) {
    add_bias(exec, x.data<T>(), bias.data<T>(), y.data<T>(), m.rows, m.columns);
  });
}

void dropout(Context& ctx, const DropoutMask& mask, const Tensor& x, Tensor& y, GradMode mode) {
  check_same("dropout", x, y);
  check<UsageError>(
      mask.p >= 0 && mask.p < 1, "dropout: the probability must be in [0, 1), not {}", mask.p);
  check(mask.batch.defined() && mask.batch.elements() == 1 && mask.batch.dtype() == DType::i64,
        "dropout: the batch's number must be one i64 element");
  check_device(ctx, "dropout", mask.batch);
  check_device(ctx, "dropout", x);
  constexpr unsigned kStreamBits = 40;
  // Beyond, the elements would have the numbers of the next stream.
  const std::int64_t last_first = (std::int64_t{1} << kStreamBits) - x.elements();
  check<UsageError>(mask.first >= 0 && mask.first <= last_first,
                    "dropout: the first of {} elements must be from 0 to {} in the mask, not {}",
                    x.elements(),
                    last_first,
                    mask.first);
  const DropoutDraw draw{ctx.seed(),
                         mask.p,
                         mask.batch.data<std::int64_t>(),
                         (mask.stream << kStreamBits) + static_cast<std::uint64_t>(mask.first)};
  dispatch(ctx, "dropout", x.dtype(), [&]<class T>(const auto& exec) {
    dropout(exec, draw, x.data<T>(), y.data<T>(), mode, x.elements());
  });
}

void copy_into_columns(
    Context& ctx, const Tensor& x, Tensor& y, std::int64_t outer, std::int64_t offset) {
  const Columns c = check_columns(x, y, outer, offset);
  check_device(ctx, "concat", x);
  dispatch(ctx, "concat", x.dtype(), [&]<class T>(const auto& exec) {
    copy_into_columns(exec, x.data<T>(), y.data<T>(), c);
  });
}

void copy_from_columns(Context& ctx,
                       const Tensor& y,
                       Tensor& x,
                       std::int64_t outer,
                       std::int64_t offset,
                       GradMode mode) {
  const Columns c = check_columns(x, y, outer, offset);
  check_device(ctx, "concat", x);
  dispatch(ctx, "concat", x.dtype(), [&]<class T>(const auto& exec) {
    copy_from_columns(exec, y.data<T>(), x.data<T>(), c, mode);
  });
}

}  // namespace learn::kernels
