#include "framework/kernels/conv/conv.h"

#include "framework/kernels/common/check_operands.h"
#include "framework/kernels/common/cuda/pad_channels.h"
#include "framework/kernels/common/padded_channels.h"
#include "framework/kernels/conv/conv_reference.h"
#include "framework/kernels/conv/cpu/conv.h"
#include "framework/kernels/conv/cuda/conv.h"
#include "framework/runtime/dispatch.h"

#include <algorithm>
#include <concepts>

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

Shape y_shape(const ConvGeometry& g) { return {g.n, g.p, g.q, g.k}; }

void check_bias(
    Context& ctx, const char* op, const ConvGeometry& g, const Tensor& x, const Tensor& bias) {
  if (!bias.defined()) return;
  check_operands(ctx, op, {&x, &bias});
  check_shape(op, "bias", bias, {g.k});
}

/// An executor whose memory the host can read.
template <class Exec>
concept HostExec = !std::same_as<Exec, cuda::Exec>;

/// Copies the first columns of x (rows,width) to narrow (rows,columns).
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

/// Returns x in the form that the implementation of its device takes: without its padding, except
/// for halves on CUDA, which cuDNN needs padded.
Tensor as_device_takes(Context& ctx, const ConvGeometry& g, const Tensor& x) {
  const std::int64_t width = x.shape()[3];
  const bool on_cuda = ctx.device().is_cuda();
  const bool takes_padding = on_cuda && is_half(x.dtype()) && g.options.groups == 1;
  if (width == g.c || (takes_padding && width <= padded_half_channels(g.c))) return x;
  check_device(ctx, "conv2d", x);
  const std::int64_t rows = x.elements() / width;
  Tensor narrow = ctx.empty({g.n, g.h, g.w, g.c}, x.dtype());
  dispatch(ctx, "conv2d", x.dtype(), [&]<class T>(const auto& exec) {
    unpad_channels(exec, x.data<T>(), rows, width, narrow.data<T>(), g.c, GradMode::overwrite);
  });
  return narrow;
}

}  // namespace

ConvGeometry conv2d_geometry(const Shape& x,
                             const Shape& w,
                             const Conv2dOptions& options,
                             std::int64_t padding) {
  check_options(options);
  check(x.rank() == 4, "conv2d: the input must be (N,H,W,C), not {}", x);
  check(w.rank() == 4, "conv2d: the weight must be (K,R,S,C/groups), not {}", w);
  const std::int64_t c = x[3] - padding;
  check(padding >= 0 && c >= 1,
        "conv2d: a padding of {} channels does not fit an input of {}",
        padding,
        x);
  check(c % options.groups == 0 && w[0] % options.groups == 0,
        "conv2d: {} groups must divide both the {} input and the {} output channels",
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
  const Tensor in = as_device_takes(ctx, g, x);
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
  const Tensor in = as_device_takes(ctx, g, x);
  g.x_width = in.shape()[3];
  check_operands(ctx, "conv2d", {&in, &dy, &dw});
  dispatch(ctx, "conv2d", x.dtype(), [&]<class T>(const auto& exec) {
    conv2d_backward_weight(exec, g, in.data<T>(), dy.data<T>(), dw.data<T>(), mode);
  });
}

}  // namespace learn::kernels
