// Properties of halves from the literature on mixed precision, tested on our operations.
#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/optim/gradients.h"
#include "framework/optim/sgd.h"
#include "framework/tensor/factory.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

using namespace learn;

namespace {

double sum_of(Context& ctx, DType dtype, double a, double b) {
  Tape tape(ctx);
  const auto value = [&](double v) { return tape.input(full(ctx.step(), {1}, dtype, v)); };
  return get((value(a) + value(b)).value(), 0);
}

/// One weight, 1 at first.
struct OneWeight {
  Context ctx{{.threads = 1}};
  nn::ParamStore params;
  explicit OneWeight(DType working) {
    params.declare(
        "w", {1}, nn::ParamRole::weight, [](Tensor& values, auto, auto) { set(values, 0, 1); });
    params.materialize(ctx);
    params.set_working_dtype(working);
  }
  [[nodiscard]] double seen() const { return get(params.slot(0).value, 0); }
  [[nodiscard]] double master() const { return get(params.master(0), 0); }
};

}  // namespace

TEST_CASE("a sum of halves swamps what is below half the spacing at the larger one") {
  Context ctx({.threads = 1});
  const double eighth = 0x1p-3;
  CHECK(sum_of(ctx, DType::f32, eighth, 0x1p-14) == eighth + 0x1p-14);
  CHECK(sum_of(ctx, DType::f16, eighth, 0x1p-14) == eighth);
  CHECK(sum_of(ctx, DType::f16, eighth, 0x1p-13) == eighth + 0x1p-13);
  CHECK(sum_of(ctx, DType::bf16, eighth, 0x1p-13) == eighth);
  CHECK(sum_of(ctx, DType::bf16, eighth, 0x1p-10) == eighth + 0x1p-10);
}

TEST_CASE("updates of a ten-thousandth are lost in a half and add up in its master") {
  for (const DType half : {DType::f16, DType::bf16}) {
    CAPTURE(half);
    OneWeight net(half);
    const auto optimizer = optim::sgd({.lr = 1e-4F})(net.params);
    double alone = 1;  // a half without a master
    for (int step = 1; step <= 1000; ++step) {
      net.params.begin_gradients();
      set(net.params.slot(0).grad, 0, -1);
      net.params.slot(0).adopt_grad();
      optim::unscale_half_gradients(net.params, optimizer->control(), GradMode::overwrite);
      optimizer->step();
      alone = sum_of(net.ctx, half, alone, 1e-4);
      if (step == 5 && half == DType::f16) CHECK(net.seen() == 1.0009765625);
    }
    CHECK(alone == 1);
    // A thousand roundings of f32 at 1.
    CHECK(std::abs(net.master() - 1.1) < 1000 * 0x1p-24);
    CHECK(std::abs(net.seen() - 1.1) < (half == DType::f16 ? 0x1p-11 : 0x1p-8));
  }
}

TEST_CASE("gradients are unscaled in f32 where a half would make them zero") {
  OneWeight net(DType::f16);
  const auto optimizer = optim::sgd({})(net.params);
  StepControl control = optimizer->read_control();
  control.loss_scale = 0x1p16F;
  control.inverse_scale = 0x1p-16F;
  optimizer->write_control(control);
  net.params.begin_gradients();
  set(net.params.slot(0).grad, 0, 0x1p-10);  // of a loss scaled by 2^16
  net.params.slot(0).adopt_grad();
  optim::unscale_half_gradients(net.params, optimizer->control(), GradMode::overwrite);
  CHECK(get(net.params.master_grad(0), 0) == 0x1p-26);
  Tape tape(net.ctx);
  const Var in_half = tape.input(full(net.ctx.step(), {1}, DType::f16, 0x1p-10));
  CHECK(get(ops::scale(in_half, 0x1p-16).value(), 0) == 0);
}

TEST_CASE("a gradient has the dtype of its tensor on either side of a cast") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  const Var full_x = tape.input(full(ctx.step(), {2, 4}, DType::f32, 0.5), true);
  const Var half_w = tape.input(full(ctx.step(), {3, 4}, DType::f16, 0.25), true);
  const Var y = ops::linear(ops::cast(full_x, DType::f16), half_w, Var());
  tape.backward(ops::sum(y));
  CHECK(tape.grad_of(full_x).dtype() == DType::f32);
  CHECK(tape.grad_of(half_w).dtype() == DType::f16);
  CHECK(get(tape.grad_of(full_x), 0) == 0.75);
  CHECK(get(tape.grad_of(half_w), 0) == 1);
}

TEST_CASE("statistics between half neighbours are f32 and of f32 sums") {
  Context ctx({.threads = 1});
  // 4096 values of 1 and 3: their sum of squares, 20480, and the sum of the first 2048 ones and one
  // more are beyond what a half can count.
  constexpr std::int64_t kRows = 4096;
  Tensor x = full(ctx.step(), {kRows, 1}, DType::f16, 1);
  for (std::int64_t i = 0; i < kRows; i += 2) set(x, i, 3);
  Tape tape(ctx);
  const auto channel = [&](double v) { return full(ctx.step(), {1}, DType::f32, v); };
  Tensor mean = channel(0);
  Tensor var = channel(1);
  const Var in = tape.input(x, true);
  const Var weight = tape.input(channel(1), true);
  const Var y = ops::batch_norm(in,
                                weight,
                                tape.input(channel(0), true),
                                mean,
                                var,
                                Var(),
                                {.momentum = 1},
                                ForwardMode::train);
  CHECK(y.dtype() == DType::f16);
  CHECK(mean.dtype() == DType::f32);
  CHECK(get(mean, 0) == 2);
  // The running variance is of kRows - 1 degrees of freedom.
  CHECK(get(var, 0) == doctest::Approx(static_cast<double>(kRows) / (kRows - 1)).epsilon(1e-6));
  tape.backward(ops::sum(y));
  CHECK(tape.grad_of(in).dtype() == DType::f16);
  CHECK(tape.grad_of(weight).dtype() == DType::f32);
}
