#include "framework/kernels/product/linear.h"

#include "framework/core/threads/thread_pool.h"
#include "framework/kernels/common/bias.h"
#include "framework/kernels/common/check_operands.h"
#include "framework/kernels/conv/conv_reference.h"
#include "framework/kernels/conv/cpu/conv.h"
#include "framework/kernels/product/cuda/linear.h"
#include "framework/kernels/product/linear_geometry.h"
#include "framework/kernels/product/small_products.h"
#include "framework/runtime/dispatch.h"

#include <concepts>

namespace learn::kernels {
namespace {

/// An executor whose memory the host can read.
template <class Exec>
concept HostExec = !std::same_as<Exec, cuda::Exec>;

template <class Exec, class T>
constexpr bool kSmallProducts = std::same_as<Exec, cpu::Exec>&& std::same_as<T, float>;

// On the host a linear layer is a convolution of 1x1 images.

ConvGeometry as_convolution(const LinearGeometry& g) { return {.n = g.n, .c = g.c, .k = g.k}; }

/// Calls product(i) for each of `g.count`. Small products run in parallel; others run one after the
/// other, each on all threads. The choice does not affect the bits.
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
  if constexpr (kSmallProducts<Exec, T>)
    if (multiply_small(exec, {g.count, g.n, g.c, g.k, x, false, w, true, y, GradMode::overwrite}))
      return;
  each_product(exec, g, [&](std::int64_t i) {
    conv2d_forward(
        exec, as_convolution(g), x + i * g.n * g.c, w + i * g.k * g.c, bias, y + i * g.n * g.k);
  });
}
template <HostExec Exec, class T>
void linear_backward_data(
    const Exec& exec, const LinearGeometry& g, const T* dy, const T* w, T* dx, GradMode mode) {
  if constexpr (kSmallProducts<Exec, T>)
    if (multiply_small(exec, {g.count, g.n, g.k, g.c, dy, false, w, false, dx, mode})) return;
  each_product(exec, g, [&](std::int64_t i) {
    conv2d_backward_data(
        exec, as_convolution(g), dy + i * g.n * g.k, w + i * g.k * g.c, dx + i * g.n * g.c, mode);
  });
}
/// Computes only the weight's gradient, not the bias's.
template <HostExec Exec, class T>
[[nodiscard]] bool linear_backward_weight(
    const Exec& exec, const LinearGeometry& g, const T* x, const T* dy, T* dw, GradMode mode, T*) {
  if constexpr (kSmallProducts<Exec, T>)
    if (multiply_small(exec, {g.count, g.k, g.n, g.c, dy, true, x, false, dw, mode})) return false;
  each_product(exec, g, [&](std::int64_t i) {
    conv2d_backward_weight(
        exec, as_convolution(g), x + i * g.n * g.c, dy + i * g.n * g.k, dw + i * g.k * g.c, mode);
  });
  return false;
}

LinearGeometry linear_geometry(const Shape& x, const Shape& w) {
  check(x.rank() == 2 || x.rank() == 3, "linear: the input must be (N,C) or (B,N,C), not {}", x);
  check(w.rank() == x.rank() && (x.rank() == 2 || w[0] == x[0]),
        "linear: the weight must be {}, not {}",
        x.rank() == 2 ? "(K,C)" : fmt::format("({},K,C)", x[0]),
        w);
  check(x[-1] == w[-1], "linear: input has {} features, weight expects {}", x[-1], w[-1]);
  return {.n = x[-2], .c = x[-1], .k = w[-2], .count = x.rank() == 2 ? 1 : x[0]};
}

/// Returns the shape of x with the features of y.
Shape linear_output(const Shape& x, const LinearGeometry& g) {
  Shape y = x;
  y.set(-1, g.k);
  return y;
}

/// Computes the gradient like `linear_backward_weight`. If `db` is defined, a device may also write
/// the bias's gradient there; returns whether it did.
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

void linear_forward(Context& ctx, const Tensor& x, const Tensor& w, const Tensor& bias, Tensor& y) {
  const LinearGeometry g = linear_geometry(x.shape(), w.shape());
  check_shape("linear", "the output", y, linear_output(x.shape(), g));
  check_operands(ctx, "linear", {&x, &w, &y});
  check(!bias.defined() || x.shape().rank() == 2,
        "linear: a batched product ({} matrices) takes no bias",
        g.count);
  if (bias.defined()) {
    check_operands(ctx, "linear", {&x, &bias});
    check_shape("linear", "bias", bias, {g.k});
  }
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

}  // namespace learn::kernels
