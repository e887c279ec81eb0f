#include "framework/kernels/elementwise/elementwise.h"

#include "framework/kernels/common/cuda/bias.h"
#include "framework/kernels/elementwise/elementwise_cpu.h"
#include "framework/kernels/elementwise/elementwise_cuda.h"
#include "framework/kernels/elementwise/elementwise_reference.h"
#include "framework/runtime/dispatch.h"

namespace learn::kernels {
namespace {

namespace reference = cpu::reference;

/// Checks device and dtype, picks the twin, and calls it for the C++ type.
template <class Fast, class Oracle, class Cuda>
void run_twin(Context& ctx,
              std::string_view op,
              const Tensor& x,
              Fast&& fast,
              Oracle&& oracle,
              Cuda&& on_device) {
  check_device(ctx, op, x);
  const Twin twin = choose(ctx, x.dtype());
  if (twin == Twin::cuda) {
    if constexpr (kHaveCuda)
      for_cuda_floating(op, x.dtype(), [&]<class T>() {
        on_device.template operator()<T>(ctx.cuda().compute());
      });
    return;
  }
  for_floating(op, x.dtype(), [&]<class T>() {
    if constexpr (kHasFastTwin<T>)
      if (twin == Twin::fast) return fast.template operator()<T>();
    oracle.template operator()<T>();
  });
}

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

struct Columns {
  std::int64_t inner, width;
};

Columns check_columns(const Tensor& part,
                      const Tensor& whole,
                      std::int64_t outer,
                      std::int64_t offset) {
  check<DTypeError>(part.dtype() == whole.dtype(),
                    "concat: dtypes differ: {} and {}",
                    part.dtype(),
                    whole.dtype());
  check(outer > 0 && part.elements() % outer == 0 && whole.elements() % outer == 0,
        "concat: {} and {} have no {} rows",
        part.shape(),
        whole.shape(),
        outer);
  const Columns c{part.elements() / outer, whole.elements() / outer};
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
  const std::int64_t n = a.elements();
  run_twin(
      ctx,
      "add",
      a,
      [&]<class T>() { cpu::add(ctx.threads(), a.data<T>(), b.data<T>(), y.data<T>(), n); },
      [&]<class T>() { reference::add(a.data<T>(), b.data<T>(), y.data<T>(), n); },
      [&]<class T>(cuda::Stream stream) {
        cuda::add(stream, a.data<T>(), b.data<T>(), y.data<T>(), n);
      });
}

void multiply(Context& ctx, const Tensor& a, const Tensor& b, Tensor& y, GradMode mode) {
  check_same("multiply", a, b);
  check_same("multiply", a, y);
  const std::int64_t n = a.elements();
  run_twin(
      ctx,
      "multiply",
      a,
      [&]<class T>() {
        cpu::multiply(ctx.threads(), a.data<T>(), b.data<T>(), y.data<T>(), mode, n);
      },
      [&]<class T>() { reference::multiply(a.data<T>(), b.data<T>(), y.data<T>(), mode, n); },
      [&]<class T>(cuda::Stream stream) {
        cuda::multiply(stream, a.data<T>(), b.data<T>(), y.data<T>(), mode, n);
      });
}

void scale(Context& ctx, const Tensor& x, double factor, Tensor& y, GradMode mode) {
  check_same("scale", x, y);
  const std::int64_t n = x.elements();
  const auto factor32 = static_cast<float>(factor);
  run_twin(
      ctx,
      "scale",
      x,
      [&]<class T>() { cpu::scale(ctx.threads(), x.data<T>(), factor32, y.data<T>(), mode, n); },
      [&]<class T>() { reference::scale(x.data<T>(), factor, y.data<T>(), mode, n); },
      [&]<class T>(cuda::Stream stream) {
        cuda::scale(stream, x.data<T>(), factor32, y.data<T>(), mode, n);
      });
}

void add_bias(Context& ctx, const Tensor& x, const Tensor& bias, Tensor& y) {
  const Matrix m = check_bias("add_bias", x, bias);
  check_same("add_bias", x, y);
  run_twin(
      ctx,
      "add_bias",
      x,
      [&]<class T>() {
        cpu::add_bias(ctx.threads(), x.data<T>(), bias.data<T>(), y.data<T>(), m.rows, m.columns);
      },
      [&]<class T>() {
        reference::add_bias(x.data<T>(), bias.data<T>(), y.data<T>(), m.rows, m.columns);
      },
      [&]<class T>(cuda::Stream stream) {
        cuda::add_bias(stream, x.data<T>(), bias.data<T>(), y.data<T>(), m.rows, m.columns);
      });
}

void dropout(Context& ctx, const DropoutMask& mask, const Tensor& x, Tensor& y, GradMode mode) {
  check_same("dropout", x, y);
  check<UsageError>(
      mask.p >= 0 && mask.p < 1, "dropout: the probability must be in [0, 1), not {}", mask.p);
  check(mask.batch.defined() && mask.batch.elements() == 1 && mask.batch.dtype() == DType::i64,
        "dropout: the batch's number must be one i64 element");
  check_device(ctx, "dropout", mask.batch);
  const double p = mask.p;
  const std::uint64_t stream = mask.stream;
  const std::int64_t* const batch = mask.batch.data<std::int64_t>();
  const std::int64_t n = x.elements();
  run_twin(
      ctx,
      "dropout",
      x,
      [&]<class T>() {
        cpu::dropout(ctx.threads(),
                     ctx.seed(),
                     p,
                     static_cast<std::uint64_t>(*batch),
                     stream,
                     x.data<T>(),
                     y.data<T>(),
                     mode,
                     n);
      },
      [&]<class T>() {
        reference::dropout(ctx.seed(),
                           p,
                           static_cast<std::uint64_t>(*batch),
                           stream,
                           x.data<T>(),
                           y.data<T>(),
                           mode,
                           n);
      },
      [&]<class T>(cuda::Stream queue) {
        cuda::dropout(queue, ctx.seed(), p, batch, stream, x.data<T>(), y.data<T>(), mode, n);
      });
}

void copy_into_columns(
    Context& ctx, const Tensor& x, Tensor& y, std::int64_t outer, std::int64_t offset) {
  const Columns c = check_columns(x, y, outer, offset);
  run_twin(
      ctx,
      "concat",
      x,
      [&]<class T>() {
        cpu::copy_into_columns(
            ctx.threads(), x.data<T>(), y.data<T>(), outer, c.inner, c.width, offset);
      },
      [&]<class T>() {
        reference::copy_into_columns(x.data<T>(), y.data<T>(), outer, c.inner, c.width, offset);
      },
      [&]<class T>(cuda::Stream stream) {
        cuda::copy_into_columns(stream, x.data<T>(), y.data<T>(), outer, c.inner, c.width, offset);
      });
}

void copy_from_columns(Context& ctx,
                       const Tensor& y,
                       Tensor& x,
                       std::int64_t outer,
                       std::int64_t offset,
                       GradMode mode) {
  const Columns c = check_columns(x, y, outer, offset);
  run_twin(
      ctx,
      "concat",
      x,
      [&]<class T>() {
        cpu::copy_from_columns(
            ctx.threads(), y.data<T>(), x.data<T>(), outer, c.inner, c.width, offset, mode);
      },
      [&]<class T>() {
        reference::copy_from_columns(
            y.data<T>(), x.data<T>(), outer, c.inner, c.width, offset, mode);
      },
      [&]<class T>(cuda::Stream stream) {
        cuda::copy_from_columns(
            stream, y.data<T>(), x.data<T>(), outer, c.inner, c.width, offset, mode);
      });
}

}  // namespace learn::kernels
