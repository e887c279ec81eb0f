#include "framework/autograd/autocast.h"
#include "framework/autograd/ops.h"
#include "framework/autograd/ops/deferred_conv.h"
#include "framework/kernels/common/bias.h"
#include "framework/kernels/conv/conv_affine.h"
#include "framework/kernels/product/linear.h"

#include <utility>
#include <vector>

namespace learn::ops {
namespace {

/// Inputs are x, w and, if there is one, the bias.
std::vector<Var> inputs_of(const Var& x, const Var& w, const Var& bias) {
  std::vector<Var> inputs{x, w};
  if (bias.defined()) inputs.push_back(bias);
  return inputs;
}

Tensor value_or_none(const Var& v) { return v.defined() ? v.value() : Tensor(); }

/// Whether a following batch normalization may fuse the convolution. An observer receives both, so
/// then it may not.
bool may_wait(const Tape& tape, const Var& x) {
  return !tape.grad() && tape.mode() == ForwardMode::eval && tape.observer() == nullptr &&
         x.padding() == 0 &&
         kernels::can_fuse_affine(tape.context(), x.dtype(), ActivationKind::identity());
}

struct Conv2dNode final : Node {
  Tensor x, w;
  std::int64_t padding;
  bool has_bias;
  Conv2dOptions options;
  Conv2dNode(const Var& x_in, Tensor w_in, bool bias, const Conv2dOptions& o)
      : x(x_in.value()), w(std::move(w_in)), padding(x_in.padding()), has_bias(bias), options(o) {}
  std::string_view name() const override { return "conv2d"; }
  void backward(Tape& tape, const Tensor& dy) override {
    Context& ctx = tape.context();
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      kernels::conv2d_backward_data(ctx, dy, w, dx, options, mode);
    });
    tape.accumulate(input(1), [&](Tensor& dw, GradMode mode) {
      kernels::conv2d_backward_weight(ctx, x, dy, dw, options, mode, padding);
    });
    if (!has_bias) return;
    tape.accumulate(input(2),
                    [&](Tensor& db, GradMode mode) { kernels::bias_backward(ctx, dy, db, mode); });
  }
  OpAttributes attributes() const override { return options; }
};

struct LinearNode final : Node {
  Tensor x, w;
  bool has_bias;
  LinearNode(Tensor x_in, Tensor w_in, bool bias)
      : x(std::move(x_in)), w(std::move(w_in)), has_bias(bias) {}
  std::string_view name() const override { return "linear"; }
  void backward(Tape& tape, const Tensor& dy) override {
    Context& ctx = tape.context();
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      kernels::linear_backward_data(ctx, dy, w, dx, mode);
    });
    bool both = false;
    tape.accumulate(input(1), [&](Tensor& dw, GradMode mode) {
      if (has_bias)
        tape.accumulate(input(2), [&](Tensor& db, GradMode bias_mode) {
          kernels::linear_backward_parameters(ctx, x, dy, dw, mode, db, bias_mode);
          both = true;
        });
      if (!both) kernels::linear_backward_weight(ctx, x, dy, dw, mode);
    });
    if (!has_bias || both) return;
    tape.accumulate(input(2),
                    [&](Tensor& db, GradMode mode) { kernels::bias_backward(ctx, dy, db, mode); });
  }
};

}  // namespace

Var conv2d(const Var& x, const Var& w, const Var& bias, const Conv2dOptions& options) {
  if (const auto cast = autocast(cast_class("conv2d"), x, w, bias))
    return conv2d((*cast)[0], (*cast)[1], (*cast)[2], options);
  Tape& tape = x.tape();
  const ConvGeometry g = kernels::conv2d_geometry(x.shape(), w.shape(), options, x.padding());
  if (may_wait(tape, x)) {
    kernels::check_conv2d(tape.context(), x.value(), w.value(), value_or_none(bias));
    return tape.defer(std::make_unique<DeferredConv2d>(
        tape.context(), x.value(), w.value(), value_or_none(bias), options));
  }
  Tensor y = tape.empty({g.n, g.p, g.q, g.k}, x.dtype());
  kernels::conv2d_forward(
      tape.context(), x.value(), w.value(), value_or_none(bias), y, options, x.padding());
  return tape.record(inputs_of(x, w, bias), y, Conv2dNode(x, w.value(), bias.defined(), options));
}

Var linear(const Var& x, const Var& w, const Var& bias) {
  if (const auto cast = autocast(cast_class("linear"), x, w, bias))
    return linear((*cast)[0], (*cast)[1], (*cast)[2]);
  Tape& tape = x.tape();
  check(x.shape().rank() == 2, "linear: the input must be (N,C), not {}", x.shape());
  check(w.shape().rank() == 2, "linear: the weight must be (K,C), not {}", w.shape());
  Tensor y = tape.empty({x.shape()[0], w.shape()[0]}, x.dtype());
  kernels::linear_forward(tape.context(), x.value(), w.value(), value_or_none(bias), y);
  return tape.record(inputs_of(x, w, bias), y, LinearNode(x.value(), w.value(), bias.defined()));
}

}  // namespace learn::ops
