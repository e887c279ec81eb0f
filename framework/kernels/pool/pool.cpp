#include "framework/kernels/pool/pool.h"

#include "framework/kernels/pool/pool_kernels.h"
#include "framework/kernels/pool/pool_reference.h"
#include "framework/runtime/dispatch.h"

namespace learn::kernels {
namespace {

std::int64_t pooled_extent(std::string_view axis,
                           std::int64_t extent,
                           std::int64_t window,
                           std::int64_t stride,
                           std::int64_t pad) {
  check(window > 0 && stride > 0,
        "pool: window {} and stride {} of the {} must be positive",
        window,
        stride,
        axis);
  check(pad >= 0 && pad <= window / 2,
        "pool: padding {} of the {} must be between 0 and half of the window {}",
        pad,
        axis,
        window);
  check(extent > 0 && extent + 2 * pad >= window,
        "pool: window {} does not fit into {} {} with padding {}",
        window,
        axis,
        extent,
        pad);
  return (extent + 2 * pad - window) / stride + 1;
}

void check_shape(std::string_view op, const Shape& shape, const Tensor& tensor) {
  check(tensor.shape() == shape, "{}: expected shape {}, got {}", op, shape, tensor.shape());
}

void check_pair(const Context& ctx,
                std::string_view op,
                const Pool2dOptions& options,
                const Tensor& x,
                const Tensor& y) {
  check_shape(op, pooled_shape(x.shape(), options), y);
  check<DTypeError>(
      x.dtype() == y.dtype(), "{}: dtypes differ: {} and {}", op, x.dtype(), y.dtype());
  check_device(ctx, op, x);
  check_device(ctx, op, y);
}

void check_winner(std::string_view op,
                  const Pool2dOptions& options,
                  const Tensor& y,
                  const Tensor& winner) {
  check_shape(op, y.shape(), winner);
  check<DTypeError>(winner.dtype() == winner_dtype(options),
                    "{}: winners of this window must be {}, not {}",
                    op,
                    winner_dtype(options),
                    winner.dtype());
}

[[nodiscard]] PoolSizes sizes_of(const Shape& x, const Shape& y, const Pool2dOptions& options) {
  return {x[0], x[1], x[2], x[3], y[1], y[2], options};
}

template <class F>
void for_winner(const Tensor& winner, F&& f) {
  if (winner.dtype() == DType::u8)
    f.template operator()<std::uint8_t>();
  else
    f.template operator()<std::int32_t>();
}

}  // namespace

Shape pooled_shape(const Shape& x, const Pool2dOptions& options) {
  check(x.rank() == 4, "pool: x must be (N,H,W,C), not {}", x);
  return {x[0],
          pooled_extent("height", x[1], options.window_h, options.stride_h, options.pad_h),
          pooled_extent("width", x[2], options.window_w, options.stride_w, options.pad_w),
          x[3]};
}

Pool2dOptions global_window(const Shape& x) {
  check(x.rank() == 4, "global pool: x must be (N,H,W,C), not {}", x);
  return {.window_h = x[1], .window_w = x[2], .stride_h = x[1], .stride_w = x[2]};
}

DType winner_dtype(const Pool2dOptions& options) {
  return options.window_h * options.window_w <= 256 ? DType::u8 : DType::i32;
}

void max_pool2d_forward(
    Context& ctx, const Pool2dOptions& options, const Tensor& x, Tensor& y, Tensor& winner) {
  constexpr std::string_view kOp = "max_pool2d";
  check_pair(ctx, kOp, options, x, y);
  check_winner(kOp, options, y, winner);
  const PoolSizes sizes = sizes_of(x.shape(), y.shape(), options);
  dispatch(ctx, kOp, x.dtype(), [&]<class T>(const auto& exec) {
    for_winner(winner, [&]<class Winner>() {
      max_pool2d_forward(exec, sizes, x.data<T>(), y.data<T>(), winner.data<Winner>());
    });
  });
}

void max_pool2d_backward(Context& ctx,
                         const Pool2dOptions& options,
                         const Tensor& winner,
                         const Tensor& dy,
                         Tensor& dx,
                         GradMode mode) {
  constexpr std::string_view kOp = "max_pool2d backward";
  check_pair(ctx, kOp, options, dx, dy);
  check_winner(kOp, options, dy, winner);
  const PoolSizes sizes = sizes_of(dx.shape(), dy.shape(), options);
  dispatch(ctx, kOp, dy.dtype(), [&]<class T>(const auto& exec) {
    for_winner(winner, [&]<class Winner>() {
      max_pool2d_backward(exec, sizes, winner.data<Winner>(), dy.data<T>(), dx.data<T>(), mode);
    });
  });
}

void avg_pool2d_forward(Context& ctx, const Pool2dOptions& options, const Tensor& x, Tensor& y) {
  constexpr std::string_view kOp = "avg_pool2d";
  check_pair(ctx, kOp, options, x, y);
  const PoolSizes sizes = sizes_of(x.shape(), y.shape(), options);
  dispatch(ctx, kOp, x.dtype(), [&]<class T>(const auto& exec) {
    avg_pool2d_forward(exec, sizes, x.data<T>(), y.data<T>());
  });
}

void avg_pool2d_backward(
    Context& ctx, const Pool2dOptions& options, const Tensor& dy, Tensor& dx, GradMode mode) {
  constexpr std::string_view kOp = "avg_pool2d backward";
  check_pair(ctx, kOp, options, dx, dy);
  const PoolSizes sizes = sizes_of(dx.shape(), dy.shape(), options);
  dispatch(ctx, kOp, dy.dtype(), [&]<class T>(const auto& exec) {
    avg_pool2d_backward(exec, sizes, dy.data<T>(), dx.data<T>(), mode);
  });
}

}  // namespace learn::kernels
