#include "framework/optim/gradients.h"

#include "framework/kernels/cast/fill.h"
#include "framework/kernels/step/step.h"
#include "framework/optim/sgd.h"
#include "framework/tensor/factory.h"
#include "tests/optim/small_net.h"
#include "tests/support/compare.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace learn;

namespace {

struct Net {
  Context ctx{{.threads = 2}};
  nn::ParamStore store;
  std::unique_ptr<optim::Optimizer> optimizer;
  Tensor norm;
  explicit Net(DType working) {
    test::declare_small_net(store);
    store.materialize(ctx);
    store.set_layer_groups({"b"});
    store.set_working_dtype(working);
    optimizer = optim::sgd({.lr = 1})(store);
    norm = Tensor(ctx.persistent(), {1}, DType::f32);
  }
  [[nodiscard]] double true_norm() {
    double sum = 0;
    for (std::int64_t i = 0; i < store.size(); ++i)
      for (std::int64_t k = 0; store.slot(i).trainable && k < store.info(i).shape.elements(); ++k)
        sum += std::pow(get(store.master_grad(i), k), 2);
    return std::sqrt(sum);
  }
};

}  // namespace

TEST_CASE("scaled half gradients become the f32 gradients they represent") {
  for (const float scale : {1.0F, 512.0F, 65536.0F}) {
    CAPTURE(scale);
    Net half(DType::f16);
    Net full(DType::f32);
    auto& control = half.optimizer->control();
    kernels::set_loss_scale(half.ctx, scale, control);
    test::random_gradients(full.store, 0, 1e-2);
    test::random_gradients(half.store, 0, 1e-2 * static_cast<double>(scale));
    optim::unscale_half_gradients(half.store, control, GradMode::overwrite);
    optim::unscale_full_gradients(half.store, control);
    // Half rounding: 2^-11 relative; 2^-25 absolute for subnormals at scale 1.
    CHECK(all_close(half.store.flat_grad(), full.store.flat_grad(), 0x1p-11, 0x1p-25));
    CHECK(half.optimizer->read_control().found_inf == 0);
  }
}

TEST_CASE("half gradients that were gathered are overwritten by the next batch") {
  Net net(DType::f16);
  for (std::int64_t i = 0; i < net.store.size(); ++i) net.store.slot(i).adopt_grad();
  optim::unscale_half_gradients(net.store, net.optimizer->control(), GradMode::overwrite);
  CHECK_FALSE(net.store.slot(net.store.find("a.weight")).has_grad());
  CHECK(net.store.slot(net.store.find("a.bn.weight")).has_grad());  // f32: is where it belongs
}

TEST_CASE("gathering may accumulate") {
  Net net(DType::bf16);
  test::random_gradients(net.store, 0);
  auto& control = net.optimizer->control();
  optim::unscale_half_gradients(net.store, control, GradMode::overwrite);
  const double once = get(net.store.master_grad(0), 3);
  optim::unscale_half_gradients(net.store, control, GradMode::accumulate);
  CHECK(once != 0);
  CHECK(get(net.store.master_grad(0), 3) == 2 * once);
}

TEST_CASE("the gradient norm covers all trained parameters") {
  Net net(DType::f32);
  test::random_gradients(net.store, 0);
  optim::gradient_norm(net.store, net.norm);
  CHECK(get(net.norm, 0) == doctest::Approx(net.true_norm()).epsilon(1e-7));
  net.store.freeze_to(1, false);
  optim::gradient_norm(net.store, net.norm);
  CHECK(get(net.norm, 0) == doctest::Approx(net.true_norm()).epsilon(1e-7));
}

TEST_CASE("clipping by norm limits what the optimizer sees") {
  for (const float multiplier : {1.0F, 0.25F}) {  // 0.25 as gradient accumulation over four
    Net net(DType::f32);
    test::random_gradients(net.store, 0);
    StepControl control;
    control.grad_multiplier = multiplier;
    net.optimizer->write_control(control);
    const double effective = static_cast<double>(multiplier) * net.true_norm();
    optim::clip_gradient_norm(
        net.store, static_cast<float>(2 * effective), net.norm, net.optimizer->control());
    CHECK(net.optimizer->read_control().grad_multiplier == multiplier);
    optim::clip_gradient_norm(net.store, 0.5F, net.norm, net.optimizer->control());
    const auto clipped = static_cast<double>(net.optimizer->read_control().grad_multiplier);
    CHECK(clipped * net.true_norm() == doctest::Approx(0.5).epsilon(1e-5));
    CHECK(get(net.norm, 0) == doctest::Approx(net.true_norm()).epsilon(1e-6));
  }
}

TEST_CASE("clipping by value limits each element the optimizer sees") {
  Net net(DType::f32);
  test::random_gradients(net.store, 0);
  StepControl control;
  control.grad_multiplier = 0.5F;
  net.optimizer->write_control(control);
  const Tensor before = test::snapshot(net.store, net.store.flat_grad());
  optim::clip_gradient_value(net.store, 0.1F, net.optimizer->control());
  int clipped = 0;
  for (std::int64_t k = 0; k < before.elements(); ++k) {
    const double g = get(before, k);
    const double limit = static_cast<double>(0.1F / 0.5F);
    CHECK(get(net.store.flat_grad(), k) == (std::abs(g) > limit ? std::copysign(limit, g) : g));
    clipped += static_cast<int>(std::abs(g) > limit);
  }
  CHECK(clipped > 10);
}

TEST_CASE("scaled gradients of both kinds are checked") {
  for (const char* name : {"a.weight", "a.bn.bias"}) {
    Net net(DType::f16);
    test::random_gradients(net.store, 0);
    optim::find_non_finite_gradients(net.store, net.optimizer->control());
    CHECK(net.optimizer->read_control().found_inf == 0);
    set(net.store.slot(net.store.find(name)).grad, 2, std::nan(""));
    optim::find_non_finite_gradients(net.store, net.optimizer->control());
    CHECK(net.optimizer->read_control().found_inf == 1);
  }
}
