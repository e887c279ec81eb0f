#include "framework/amp/grad_scaler.h"

#include "framework/autograd/autocast.h"
#include "framework/autograd/ops.h"
#include "tests/amp/small_model.h"
#include "tests/golden/amp_traces.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

using namespace learn;
using amp::GradScaler;
using amp::GradScalerOptions;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// One parameter of four weights, with gradients by a formula: see make_amp.py.
struct FourWeights {
  static constexpr int kSize = 4;
  Context ctx{{.threads = 1}};
  nn::ParamStore params;
  std::unique_ptr<optim::Optimizer> optimizer;

  FourWeights() {
    params.declare("w", {kSize}, nn::ParamRole::weight, [](Tensor& values, auto, auto) {
      for (int i = 0; i < kSize; ++i) set(values, i, ((i * 29) % 23 - 11) / 8.0);
    });
    params.materialize(ctx);
    optimizer = optim::sgd({.lr = 0.05F, .momentum = 0.9F})(params);
  }

  /// In the state after a backward pass of the scaled loss.
  void backward(int step, double scale) {
    ParamSlot& slot = params.slot(0);
    for (int i = 0; i < kSize; ++i)
      set(slot.grad, i, scale * (((step * 37 + i * 101 + 17 * step * i) % 97) - 48) / 64.0);
    const auto overflows = std::span(golden::kAmpOverflows);
    if (std::find(overflows.begin(), overflows.end(), step) != overflows.end())
      set(slot.grad, step % kSize, step % 2 != 0 ? kInf : std::nan(""));
    slot.adopt_grad();
  }
};

/// Holds scale, skips, unscaled gradients and weights of every step to a trace.
template <std::size_t steps, std::size_t columns>
void check_trace(const double (&trace)[steps][columns], const GradScalerOptions& options) {
  FourWeights net;
  GradScaler scaler(net.ctx, options);
  for (std::size_t step = 0; step < steps; ++step) {
    CAPTURE(step);
    const double* const row = trace[step];
    const std::int64_t skipped_before = net.optimizer->read_control().skipped;
    net.backward(static_cast<int>(step), static_cast<double>(scaler.read_scale()));
    scaler.unscale(*net.optimizer);
    std::vector<double> unscaled(FourWeights::kSize);
    for (int i = 0; i < FourWeights::kSize; ++i)
      unscaled[static_cast<std::size_t>(i)] = get(net.params.flat_grad(), i);
    scaler.step(*net.optimizer);
    scaler.update();
    CHECK(static_cast<double>(scaler.read_scale()) == row[0]);
    const bool skipped = net.optimizer->read_control().skipped > skipped_before;
    CHECK(skipped == (row[1] != 0));
    for (int i = 0; i < FourWeights::kSize; ++i) {
      CAPTURE(i);
      // Scales are powers of two: dividing by one is exact.
      if (!skipped) CHECK(unscaled[static_cast<std::size_t>(i)] == row[2 + i]);
      // PyTorch rounds the product of rate and momentum buffer by itself, or joins it with the sum.
      CHECK(get(net.params.master(0), i) == doctest::Approx(row[6 + i]).epsilon(1e-6));
    }
  }
}

Var loss_of(test::SmallTraining& t, int batch, double gain = 1) {
  const Var pred = (*t.model.module)(t.tape.input(t.x(batch, gain)));
  return ops::softmax_cross_entropy(ops::cast(pred, DType::f32), t.y(batch), 0);
}

}  // namespace

TEST_CASE("scale and skips and gradients and weights are torch.amp's step by step") {
  check_trace(golden::kTorchGradScaler,
              {.init_scale = 1024,
               .scaling = {.growth_interval = 3, .floor = 0x1p-126F, .ceiling = 0x1p126F}});
  check_trace(golden::kTorchGradScalerFactors,
              {.init_scale = 64,
               .scaling = {.growth_factor = 4,
                           .backoff_factor = 0.25F,
                           .growth_interval = 2,
                           .floor = 0x1p-126F,
                           .ceiling = 0x1p126F}});
}

TEST_CASE("with apex's floor and ceiling they are apex's step by step") {
  check_trace(
      golden::kApexScaler,
      {.init_scale = 1024, .scaling = {.growth_interval = 3, .floor = 256, .ceiling = 2048}});
}

TEST_CASE("with a hysteresis the scale equals that of apex's kernel") {
  FourWeights net;
  GradScaler scaler(net.ctx,
                    {.init_scale = 1024, .scaling = {.growth_interval = 3, .hysteresis = 2}});
  int step = 0;
  for (const auto& row : golden::kApexHysteresis) {
    CAPTURE(step);
    net.backward(step++, 1);
    scaler.step(*net.optimizer);
    scaler.update();
    CHECK(static_cast<double>(scaler.read_scale()) == row[0]);
  }
}

TEST_CASE("the constants are torch.amp's") {
  const GradScalerOptions options;
  CHECK(options.init_scale == 65536);
  CHECK(options.scaling.growth_factor == 2);
  CHECK(options.scaling.backoff_factor == 0.5F);
  CHECK(options.scaling.growth_interval == 2000);
  CHECK(options.scaling.hysteresis == 1);
  Context ctx({.threads = 1});
  CHECK(GradScaler(ctx).read_scale() == 65536);
  CHECK_THROWS_AS(GradScaler(ctx, {.init_scale = 0}), UsageError);
  CHECK_THROWS_AS(GradScaler(ctx, {.init_scale = 4, .scaling = {.floor = 8}}), UsageError);
  CHECK_THROWS_AS(GradScaler(ctx, {.scaling = {.growth_factor = 0.5F}}), UsageError);
}

TEST_CASE("a loop with autocast and a scaler follows f32 and skips what overflows") {
  const auto train = [](std::optional<DType> half, bool scaled) {
    test::SmallTraining t;
    GradScaler scaler(t.ctx, {.init_scale = 1024, .enabled = scaled});
    for (int batch = 0; batch < 6; ++batch) {
      t.begin();
      const AutocastRegion region(t.tape, half);
      t.tape.backward(scaler.scale(loss_of(t, batch)));
      scaler.step(*t.optimizer);
      scaler.update();
    }
    CHECK(t.optimizer->read_control().step == 6);
    CHECK(scaler.read_scale() == (scaled ? 1024 : 1));
    return t.everything();
  };
  const std::vector<double> full = train(std::nullopt, false);
  CHECK(train(std::nullopt, true) == full);  // a power of two
  // Values of order 1 after some ten roundings of 11 and 8 bits, six times.
  CHECK(test::distance(train(DType::f16, true), full) < 10 * 0x1p-11);
  CHECK(test::distance(train(DType::bf16, false), full) < 10 * 0x1p-8);
}

TEST_CASE("a skipped step leaves no trace except in the scale") {
  test::SmallTraining t;
  GradScaler scaler(t.ctx, {.init_scale = 1024});
  for (int batch = 0; batch < 4; ++batch) {
    CAPTURE(batch);
    const std::vector<double> before = t.everything();
    t.begin();
    const AutocastRegion region(t.tape, DType::f16);
    t.tape.backward(scaler.scale(loss_of(t, batch, batch == 2 ? 1e6 : 1)));
    scaler.step(*t.optimizer);
    scaler.update();
    CHECK((t.everything() == before) == (batch == 2));
  }
  CHECK(scaler.read_scale() == 512);
  CHECK(scaler.read_control().skipped == 1);
  CHECK(scaler.read_control().step == 3);
}

TEST_CASE("gradients are unscaled where they can be read and clipped") {
  test::SmallTraining t;
  GradScaler scaler(t.ctx, {.init_scale = 1024});
  const auto gradients = [&](bool scaled) {
    t.begin();
    t.model.params->begin_gradients();
    t.tape.backward(scaled ? scaler.scale(loss_of(t, 0)) : loss_of(t, 0));
    if (scaled) scaler.unscale(*t.optimizer);
    return t.values(t.model.params->flat_grad());
  };
  CHECK(gradients(true) == gradients(false));
}

TEST_CASE("gradients of several backward passes add up until the step") {
  const auto train = [](bool two) {
    test::SmallTraining t;
    GradScaler scaler(t.ctx, {.init_scale = 64});
    for (int batch = 0; batch < 2; ++batch) {
      t.begin();
      t.tape.backward(scaler.scale(loss_of(t, batch)));
      if (two) {
        t.begin();
        t.tape.backward(scaler.scale(loss_of(t, batch)));
      }
      t.optimizer->set_lr(0, two ? 0.0005F : 0.001F);
      scaler.step(*t.optimizer);
      scaler.update();
    }
    return t.weights();
  };
  // Twice the gradient at half the rate; decay is by the rate, and the second pass moved what
  // batch norm remembers, but not what it computes.
  CHECK(test::distance(train(true), train(false)) < 1e-4);
}

TEST_CASE("an unused parameter has a zero gradient and not an old one") {
  test::SmallTraining t(optim::sgd({.lr = 0.5F}));
  GradScaler scaler(t.ctx);
  t.begin();
  t.tape.backward(scaler.scale(loss_of(t, 0)));
  scaler.step(*t.optimizer);
  scaler.update();
  const std::vector<double> before = t.weights();
  t.begin();
  ParamSlot& bias = t.model.params->slot(t.model.params->find("last.bias"));
  t.tape.backward(scaler.scale(ops::sum(t.tape.param(bias))));
  scaler.step(*t.optimizer);
  scaler.update();
  const std::vector<double> after = t.weights();
  std::int64_t changed = 0;
  for (std::size_t i = 0; i < before.size(); ++i) changed += before[i] != after[i] ? 1 : 0;
  CHECK(changed == test::kOut);
}

TEST_CASE("one scaler serves two optimizers and an overflow skips the one that has it") {
  test::SmallTraining a;
  nn::Model other = nn::make_model<test::SmallNet>("other", {test::kIn}, 3);
  other.params->materialize(a.ctx);
  const auto second = optim::sgd({.lr = 0.1F})(*other.params);
  GradScaler scaler(a.ctx, {.init_scale = 256});
  for (const bool overflow : {false, true}) {
    CAPTURE(overflow);
    a.begin();
    a.tape.backward(scaler.scale(loss_of(a, 0)));
    a.begin();
    const Var pred = (*other.module)(a.tape.input(a.x(1)));
    a.tape.backward(scaler.scale(ops::softmax_cross_entropy(pred, a.y(1), 0)));
    if (overflow) set(other.params->slot(0).grad, 3, kInf);
    scaler.step(*a.optimizer);
    scaler.step(*second);
    scaler.update();
  }
  CHECK(a.optimizer->read_control().step == 2);
  CHECK(second->read_control().step == 1);
  CHECK(second->read_control().skipped == 1);
  CHECK(scaler.read_scale() == 128);
}

TEST_CASE(
    "losses with separate scalers add up unscaled and each scale reacts only to its own "
    "overflows") {
  for (int bad = -1; bad < 2; ++bad) {
    CAPTURE(bad);
    test::SmallTraining t(optim::sgd({.lr = 0.1F}));
    GradScaler first(t.ctx, {.init_scale = 1024});
    GradScaler second(t.ctx, {.init_scale = 16});
    const std::vector<double> before = t.weights();
    t.begin();
    t.tape.backward(first.scale(loss_of(t, 0)));
    if (bad == 0) set(t.model.params->slot(0).grad, 0, kInf);
    first.stash(*t.optimizer);
    t.begin();
    t.tape.backward(second.scale(loss_of(t, 1)));
    if (bad == 1) set(t.model.params->slot(0).grad, 0, -kInf);
    second.unscale(*t.optimizer);
    const std::vector<double> sum = t.values(t.model.params->flat_grad());
    CHECK_THROWS_WITH_AS(first.step(*t.optimizer), doctest::Contains("after stash"), Error);
    second.step(*t.optimizer);
    first.update();
    second.update();
    CHECK(first.read_scale() == (bad == 0 ? 512 : 1024));
    CHECK(second.read_scale() == (bad == 1 ? 8 : 16));
    CHECK((t.weights() == before) == (bad >= 0));
    if (bad >= 0) continue;
    // By hand: two backward passes whose gradients add up.
    test::SmallTraining plain;
    for (const int batch : {0, 1}) {
      plain.begin();
      plain.tape.backward(loss_of(plain, batch));
    }
    CHECK(test::distance(plain.values(plain.model.params->flat_grad()), sum) < 1e-6);
    // Nothing is left for the next step.
    t.begin();
    t.tape.backward(second.scale(loss_of(t, 2)));
    second.unscale(*t.optimizer);
    const std::vector<double> alone = t.values(t.model.params->flat_grad());
    t.begin();
    t.model.params->begin_gradients();
    t.tape.backward(loss_of(t, 2));
    CHECK(alone == t.values(t.model.params->flat_grad()));
  }
}

TEST_CASE("a half model is unscaled into its masters with a scaler and without") {
  for (const bool enabled : {true, false}) {
    test::SmallTraining t;
    t.model.params->set_working_dtype(DType::bf16);
    GradScaler scaler(t.ctx, {.init_scale = 256, .enabled = enabled});
    const std::vector<double> before = t.weights();
    t.begin();
    const Var x = ops::cast(t.tape.input(t.x(0)), DType::bf16);
    const Var pred = ops::cast((*t.model.module)(x), DType::f32);
    t.tape.backward(scaler.scale(ops::softmax_cross_entropy(pred, t.y(0), 0)));
    scaler.step(*t.optimizer);
    scaler.update();
    const double moved = test::distance(t.weights(), before);
    CHECK(moved > 1e-4);
    CHECK(moved < 0.1);
  }
}

TEST_CASE("a wrong order is refused") {
  test::SmallTraining t;
  GradScaler scaler(t.ctx);
  CHECK_THROWS_WITH_AS(scaler.update(), doctest::Contains("before gradients were unscaled"), Error);
  CHECK_THROWS_WITH_AS(scaler.unscale(*t.optimizer), doctest::Contains("no gradients"), Error);
  t.begin();
  t.tape.backward(scaler.scale(loss_of(t, 0)));
  CHECK_FALSE(scaler.is_unscaled(*t.optimizer));
  scaler.unscale(*t.optimizer);
  CHECK(scaler.is_unscaled(*t.optimizer));
  CHECK_THROWS_WITH_AS(
      scaler.unscale(*t.optimizer), doctest::Contains("unscale was already called"), Error);
  CHECK_THROWS_WITH_AS(
      (void)test::save(t.ctx, scaler), doctest::Contains("between two steps"), Error);
  scaler.step(*t.optimizer);
  CHECK_THROWS_WITH_AS(
      scaler.step(*t.optimizer), doctest::Contains("step was already called"), Error);
  CHECK_THROWS_WITH_AS(
      scaler.unscale(*t.optimizer), doctest::Contains("unscale is called after step"), Error);
  scaler.update(8.0F);
  CHECK(scaler.read_scale() == 8);
  CHECK_THROWS_AS(scaler.update(), Error);
}

TEST_CASE("a new scale can be given and is checked") {
  FourWeights net;
  GradScaler scaler(net.ctx, {.scaling = {.ceiling = 0x1p20F}});
  net.backward(1, 65536);
  scaler.step(*net.optimizer);
  CHECK_THROWS_AS(scaler.update(0x1p21F), UsageError);
}

TEST_CASE("a resumed scaler continues as if it had not stopped") {
  const GradScalerOptions options{.init_scale = 8,
                                  .scaling = {.growth_interval = 4, .hysteresis = 2}};
  FourWeights net;
  GradScaler whole(net.ctx, options);
  std::optional<GradScaler> resumed;
  FourWeights other;
  for (int step = 0; step < 20; ++step) {
    CAPTURE(step);
    if (step == 5) {
      resumed.emplace(other.ctx, options);
      test::load(other.ctx,
                 test::save(net.ctx, net.params, *net.optimizer),
                 other.params,
                 *other.optimizer);
      test::load(other.ctx, test::save(net.ctx, whole), *resumed);
    }
    net.backward(step, static_cast<double>(whole.read_scale()));
    whole.step(*net.optimizer);
    whole.update();
    if (!resumed) continue;
    other.backward(step, static_cast<double>(resumed->read_scale()));
    resumed->step(*other.optimizer);
    resumed->update();
    CHECK(resumed->read_scale() == whole.read_scale());
    CHECK(same_bits(other.params.flat_master(), net.params.flat_master()).equal);
  }
}
