#include "framework/kernels/conv/conv.h"

#include "framework/core/threads/thread_pool.h"
#include "framework/kernels/common/cuda/bias.h"
#include "framework/kernels/conv/conv_reference.h"
#include "framework/kernels/conv/cpu/conv.h"
#include "framework/kernels/conv/cuda/conv.h"
#include "framework/kernels/conv/cuda/linear.h"
#include "framework/kernels/conv/cuda/pad_channels.h"
#include "framework/runtime/dispatch.h"

#include <algorithm>
#include <concepts>
#include <initializer_list>

namespace learn::kernels {
namespace {

void check_options(const Conv2dOptions& o) {
  check(o.stride_h >= 1 && o.stride_w >= 1,
        "conv2d: strides must be at least 1, not {} and {}",
        o.stride_h,
        o.stride_w);
  check(o.pad_top >= 0 && o.pad_bottom >= 0 && o.pad_left >= 0 && o.pad_right >= 0,
        "conv2d: paddings must not be negative, got top {}, bottom {}, left {}, right {}",
        o.pad_top,
        o.pad_bottom,
        o.pad_left,
        o.pad_right);
  check(o.groups >= 1, "conv2d: groups must be at least 1, not {}", o.groups);
}

void check_operands(Context& ctx, const char* op, std::initializer_list<const Tensor*> tensors) {
  const DType dtype = (*tensors.begin())->dtype();
  for (const Tensor* t : tensors) {
    check_device(ctx, op, *t);
    check<DTypeError>(t->dtype() == dtype, "{}: dtypes differ: {} and {}", op, dtype, t->dtype());
  }
}

void check_shape(const char* op, const char* what, const Tensor& tensor, const Shape& wanted) {
  check(tensor.shape() == wanted,
        "{}: {} has shape {}, must have {}",
        op,
        what,
        tensor.shape(),
        wanted);
}

Shape y_shape(const ConvGeometry& g) { return {g.n, g.p, g.q, g.k}; }

void check_bias(
    Context& ctx, const char* op, const ConvGeometry& g, const Tensor& x, const Tensor& bias) {
  if (!bias.defined()) return;
  check_operands(ctx, op, {&x, &bias});
  check_shape(op, "bias", bias, {g.k});
}

/// An executor whose memory the host reads.
template <class Exec>
concept HostExec = !std::same_as<Exec, cuda::Exec>;

/// narrow (rows,columns) = the first columns of x (rows,width).
template <HostExec Exec, class T>
void unpad_channels(const Exec&,
                    const T* x,
                    std::int64_t rows,
                    std::int64_t width,
                    T* narrow,
                    std::int64_t columns,
                    GradMode) {
  for (std::int64_t row = 0; row < rows; ++row)
    std::copy_n(x + row * width, columns, narrow + row * columns);
}

// On the host a linear layer is a convolution of 1x1 images.

ConvGeometry as_convolution(const LinearGeometry& g) { return {.n = g.n, .c = g.c, .k = g.k}; }

/// Calls product(i) for each of `g.count`: small ones side by side, others one after the other,
/// each by all threads. Their bits do not depend on it.
template <HostExec Exec, class F>
void each_product(const Exec& exec, const LinearGeometry& g, F product) {
  if constexpr (std::same_as<Exec, cpu::Exec>) {
    constexpr std::int64_t kSmall = 1 << 22;  // multiplications: 0.1 ms
    if (g.count > 1 && g.n * g.c * g.k <= kSmall) return exec.threads.run(g.count, product);
  }
  for (std::int64_t i = 0; i < g.count; ++i) product(i);
}

template <HostExec Exec, class T>
void linear_forward(
    const Exec& exec, const LinearGeometry& g, const T* x, const T* w, const T* bias, T* y) {
  each_product(exec, g, [&](std::int64_t i) {
    conv2d_forward(
        exec, as_convolution(g), x + i * g.n * g.c, w + i * g.k * g.c, bias, y + i * g.n * g.k);
  });
}
template <HostExec Exec, class T>
void linear_backward_data(
    const Exec& exec, const LinearGeometry& g, const T* dy, const T* w, T* dx, GradMode mode) {
  each_product(exec, g, [&](std::int64_t i) {
    conv2d_backward_data(
        exec, as_convolution(g), dy + i * g.n * g.k, w + i * g.k * g.c, dx + i * g.n * g.c, mode);
  });
}
/// Leaves the bias's gradient alone.
template <HostExec Exec, class T>
[[nodiscard]] bool linear_backward_weight(
    const Exec& exec, const LinearGeometry& g, const T* x, const T* dy, T* dw, GradMode mode, T*) {
  each_product(exec, g, [&](std::int64_t i) {
    conv2d_backward_weight(
        exec, as_convolution(g), x + i * g.n * g.c, dy + i * g.n * g.k, dw + i * g.k * g.c, mode);
  });
  return false;
}

/// x as the implementations want it: without its padding, but for CUDA's halves, whose library
/// wants some.
Tensor as_taken(Context& ctx, const ConvGeometry& g, const Tensor& x) {
  const std::int64_t width = x.shape()[3];
  const bool on_cuda = ctx.device().is_cuda();
  const bool padded_anyhow = on_cuda && is_half(x.dtype()) && g.options.groups == 1;
  if (width == g.c || (padded_anyhow && width <= padded_half_channels(g.c))) return x;
  check_device(ctx, "conv2d", x);
  const std::int64_t rows = x.elements() / width;
  Tensor narrow = ctx.empty({g.n, g.h, g.w, g.c}, x.dtype());
  dispatch(ctx, "conv2d", x.dtype(), [&]<class T>(const auto& exec) {
    unpad_channels(exec, x.data<T>(), rows, width, narrow.data<T>(), g.c, GradMode::overwrite);
  });
  return narrow;
}

LinearGeometry linear_geometry(const Shape& x, const Shape& w) {
  check(x.rank() == 2 || x.rank() == 3,
        "linear: the input must be (N,C) or (B,N,C), it has shape {}",
        x);
  check(w.rank() == x.rank() && (x.rank() == 2 || w[0] == x[0]),
        "linear: the weight must be {}, it has shape {}",
        x.rank() == 2 ? "(K,C)" : fmt::format("({},K,C)", x[0]),
        w);
  check(x[-1] == w[-1], "linear: input has {} features, weight expects {}", x[-1], w[-1]);
  return {.n = x[-2], .c = x[-1], .k = w[-2], .count = x.rank() == 2 ? 1 : x[0]};
}

/// The shape of x but for its features.
Shape linear_output(const Shape& x, const LinearGeometry& g) {
  Shape y = x;
  y.set(-1, g.k);
  return y;
}

/// As `linear_backward_weight`. Where `db` is defined, a device may write the bias's gradient there
/// in passing; returns whether it did.
bool linear_weight_gradient(
    Context& ctx, const Tensor& x, const Tensor& dy, Tensor& dw, GradMode mode, Tensor db) {
  const LinearGeometry g = linear_geometry(x.shape(), dw.shape());
  check_shape("linear", "the output's gradient", dy, linear_output(x.shape(), g));
  check_operands(ctx, "linear", {&x, &dy, &dw});
  bool with_bias = false;
  dispatch(ctx, "linear", x.dtype(), [&]<class T>(const auto& exec) {
    with_bias = linear_backward_weight(
        exec, g, x.data<T>(), dy.data<T>(), dw.data<T>(), mode, data_or_null<T>(db));
  });
  return with_bias;
}

}  // namespace

ConvGeometry conv2d_geometry(const Shape& x,
                             const Shape& w,
                             const Conv2dOptions& options,
                             std::int64_t padding) {
  check_options(options);
  check(x.rank() == 4, "conv2d: the input must be (N,H,W,C), it has shape {}", x);
  check(w.rank() == 4, "conv2d: the weight must be (K,R,S,C/groups), it has shape {}", w);
  const std::int64_t c = x[3] - padding;
  check(padding >= 0 && c >= 1, "conv2d: a padding of {} leaves no channel of {}", padding, x);
  check(c % options.groups == 0 && w[0] % options.groups == 0,
        "conv2d: {} groups divide neither or only one of {} input and {} output channels",
        options.groups,
        c,
        w[0]);
  check(c == w[3] * options.groups,
        "conv2d: input has {} channels, weight expects {}",
        c,
        w[3] * options.groups);
  check(w[1] >= 1 && w[2] >= 1, "conv2d: the weight's window is empty: {}", w);
  const std::int64_t p =
      conv_extent(x[1], options.pad_top + options.pad_bottom, w[1], options.stride_h);
  const std::int64_t q =
      conv_extent(x[2], options.pad_left + options.pad_right, w[2], options.stride_w);
  check(p >= 1 && q >= 1,
        "conv2d: a {}x{} window does not fit a {}x{} input with padding {}+{} and {}+{}",
        w[1],
        w[2],
        x[1],
        x[2],
        options.pad_top,
        options.pad_bottom,
        options.pad_left,
        options.pad_right);
  return {x[0], x[1], x[2], c, w[0], w[1], w[2], p, q, options};
}

void conv2d_forward(Context& ctx,
                    const Tensor& x,
                    const Tensor& w,
                    const Tensor& bias,
                    Tensor& y,
                    const Conv2dOptions& options,
                    std::int64_t padding) {
  ConvGeometry g = conv2d_geometry(x.shape(), w.shape(), options, padding);
  check_shape("conv2d", "the output", y, y_shape(g));
  const Tensor in = as_taken(ctx, g, x);
  g.x_width = in.shape()[3];
  check_operands(ctx, "conv2d", {&in, &w, &y});
  check_bias(ctx, "conv2d", g, in, bias);
  dispatch(ctx, "conv2d", x.dtype(), [&]<class T>(const auto& exec) {
    conv2d_forward(exec, g, in.data<T>(), w.data<T>(), data_or_null<T>(bias), y.data<T>());
  });
}

void check_conv2d(Context& ctx, const Tensor& x, const Tensor& w, const Tensor& bias) {
  check_operands(ctx, "conv2d", {&x, &w});
  check_bias(ctx, "conv2d", {.k = w.shape()[0]}, x, bias);
}

void conv2d_backward_data(Context& ctx,
                          const Tensor& dy,
                          const Tensor& w,
                          Tensor& dx,
                          const Conv2dOptions& options,
                          GradMode mode) {
  const ConvGeometry g = conv2d_geometry(dx.shape(), w.shape(), options);
  check_shape("conv2d", "the output's gradient", dy, y_shape(g));
  check_operands(ctx, "conv2d", {&dy, &w, &dx});
  dispatch(ctx, "conv2d", dy.dtype(), [&]<class T>(const auto& exec) {
    conv2d_backward_data(exec, g, dy.data<T>(), w.data<T>(), dx.data<T>(), mode);
  });
}

void conv2d_backward_weight(Context& ctx,
                            const Tensor& x,
                            const Tensor& dy,
                            Tensor& dw,
                            const Conv2dOptions& options,
                            GradMode mode,
                            std::int64_t padding) {
  ConvGeometry g = conv2d_geometry(x.shape(), dw.shape(), options, padding);
  check_shape("conv2d", "the output's gradient", dy, y_shape(g));
  const Tensor in = as_taken(ctx, g, x);
  g.x_width = in.shape()[3];
  check_operands(ctx, "conv2d", {&in, &dy, &dw});
  dispatch(ctx, "conv2d", x.dtype(), [&]<class T>(const auto& exec) {
    conv2d_backward_weight(exec, g, in.data<T>(), dy.data<T>(), dw.data<T>(), mode);
  });
}

void linear_forward(Context& ctx, const Tensor& x, const Tensor& w, const Tensor& bias, Tensor& y) {
  const LinearGeometry g = linear_geometry(x.shape(), w.shape());
  check_shape("linear", "the output", y, linear_output(x.shape(), g));
  check_operands(ctx, "linear", {&x, &w, &y});
  check(
      !bias.defined() || x.shape().rank() == 2, "linear: {} inputs at once have no bias", g.count);
  check_bias(ctx, "linear", as_convolution(g), x, bias);
  dispatch(ctx, "linear", x.dtype(), [&]<class T>(const auto& exec) {
    linear_forward(exec, g, x.data<T>(), w.data<T>(), data_or_null<T>(bias), y.data<T>());
  });
}

void linear_backward_data(
    Context& ctx, const Tensor& dy, const Tensor& w, Tensor& dx, GradMode mode) {
  const LinearGeometry g = linear_geometry(dx.shape(), w.shape());
  check_shape("linear", "the output's gradient", dy, linear_output(dx.shape(), g));
  check_operands(ctx, "linear", {&dy, &w, &dx});
  dispatch(ctx, "linear", dy.dtype(), [&]<class T>(const auto& exec) {
    linear_backward_data(exec, g, dy.data<T>(), w.data<T>(), dx.data<T>(), mode);
  });
}

void linear_backward_weight(
    Context& ctx, const Tensor& x, const Tensor& dy, Tensor& dw, GradMode mode) {
  (void)linear_weight_gradient(ctx, x, dy, dw, mode, {});
}

void linear_backward_parameters(Context& ctx,
                                const Tensor& x,
                                const Tensor& dy,
                                Tensor& dw,
                                GradMode weight_mode,
                                Tensor& db,
                                GradMode bias_mode) {
  check_operands(ctx, "linear", {&dy, &db});
  check_shape("linear", "the bias's gradient", db, {dw.shape()[0]});
  const Tensor sums = bias_mode == GradMode::overwrite ? db : Tensor{};
  if (!linear_weight_gradient(ctx, x, dy, dw, weight_mode, sums))
    bias_backward(ctx, dy, db, bias_mode);
}

void bias_backward(Context& ctx, const Tensor& dy, Tensor& db, GradMode mode) {
  check(dy.shape().rank() >= 1 && db.shape() == Shape{dy.shape()[-1]},
        "bias: gradient has shape {}, bias has {}",
        dy.shape(),
        db.shape());
  check_operands(ctx, "bias", {&dy, &db});
  const std::int64_t k = db.elements();
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < dy.shape().rank(); ++i) rows *= dy.shape()[i];
  dispatch(ctx, "bias", dy.dtype(), [&]<class T>(const auto& exec) {
    bias_backward(exec, dy.data<T>(), rows, k, db.data<T>(), mode);
  });
}

}  // namespace learn::kernels
