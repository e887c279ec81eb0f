#include "framework/kernels/step/step.h"
#include "framework/optim/adam.h"
#include "framework/optim/gradients.h"
#include "framework/optim/rmsprop.h"
#include "framework/optim/sgd.h"
#include "framework/tensor/factory.h"
#include "tests/optim/small_net.h"
#include "tests/support/compare.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <limits>
#include <map>

using namespace learn;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// One training step as mixed precision does it, without a model: scaled gradients, gathering and
/// unscaling with look-up, update, statistics, loss scale.
struct Step {
  Context ctx{{.threads = 2}};
  nn::ParamStore store;
  std::unique_ptr<optim::Optimizer> optimizer;
  LossScaleOptions options{.growth_interval = 4};

  Step(const optim::OptimizerFactory& factory, DType working) {
    test::declare_small_net(store);
    store.materialize(ctx);
    store.set_layer_groups({"b", "c"});
    store.set_working_dtype(working);
    optimizer = factory(store);
    kernels::set_loss_scale(ctx, 1024, optimizer->control());
  }

  /// With `poison`, that parameter's last gradient element is `value`.
  void run(int number, const char* poison = nullptr, double value = kInf) {
    auto& control = optimizer->control();
    kernels::begin_step(ctx, control);
    test::random_gradients(store, number, 1024);
    for (std::int64_t i = 0; i < store.buffer_count(); ++i)
      set(store.buffer(i).value, 0, number + 0.5);  // the forward pass moves running statistics
    if (poison != nullptr) {
      ParamSlot& slot = store.slot(store.find(poison));
      set(slot.grad, slot.grad.elements() - 1, value);
    }
    optim::unscale_half_gradients(store, control, GradMode::overwrite);
    optim::unscale_full_gradients(store, control);
    optimizer->set_loss_scaling(options);
    optimizer->step();
  }

  [[nodiscard]] std::map<std::string, Tensor> everything() {
    std::map<std::string, Tensor> all{{"masters", test::snapshot(store, store.flat_master())},
                                      {"buffers", test::snapshot(store, store.flat_buffers())}};
    if (store.flat_half().defined()) all["half"] = test::snapshot(store, store.flat_half());
    for (auto& [name, state] : store.states()) all[name] = test::snapshot(store, state.values);
    return all;
  }
};

}  // namespace

TEST_CASE("an overflow in any gradient leaves everything as it was") {
  const std::map<std::string, optim::OptimizerFactory> factories{
      {"sgd", optim::sgd({.momentum = 0.9F, .weight_decay = 0.1F})},
      {"adamw", optim::adamw({.weight_decay = 0.1F})},
      {"rmsprop", optim::rmsprop({.momentum = 0.9F, .centered = true, .weight_decay = 0.1F})}};
  for (const auto& [name, factory] : factories)
    for (const DType working : {DType::f32, DType::f16, DType::bf16})
      for (const char* poisoned : {"a.weight", "b.bias", "c.bn.bias", "d.weight"})
        for (const double value : {kInf, -kInf, std::numeric_limits<double>::quiet_NaN()}) {
          const std::string& kind = name;  // clang captures no binding
          CAPTURE(kind);
          CAPTURE(working);
          CAPTURE(poisoned);
          CAPTURE(value);
          Step step(factory, working);
          step.run(0);
          step.run(1);
          const auto before = step.everything();
          step.run(2, poisoned, value);
          for (auto& [what, now] : step.everything()) {
            const std::string& part = what;  // clang captures no binding
            CAPTURE(part);
            CHECK(same_bits(before.at(what), now));
          }
          const StepControl control = step.optimizer->read_control();
          CHECK(control.step == 2);
          CHECK(control.skipped == 1);
          CHECK(control.loss_scale == 512);
          CHECK(control.inverse_scale == 1.0F / 512);
        }
}

TEST_CASE("after an overflow training continues as if the step had not happened") {
  Step bumpy(optim::adamw({}), DType::f16);
  Step smooth(optim::adamw({}), DType::f16);
  bumpy.options.dynamic = smooth.options.dynamic = false;
  smooth.run(0);
  smooth.run(1);
  bumpy.run(0);
  bumpy.run(7, "a.weight");
  bumpy.run(1);
  const auto expected = smooth.everything();
  for (auto& [what, now] : bumpy.everything()) {
    const std::string& part = what;  // clang captures no binding
    CAPTURE(part);
    CHECK(same_bits(expected.at(what), now));
  }
  CHECK(bumpy.optimizer->read_control().loss_scale == 1024);
}

TEST_CASE("the loss scale grows after as many clean steps, though the training was resumed") {
  Step first(optim::sgd({}), DType::f16);
  for (int number = 0; number < 3; ++number) first.run(number);
  Step resumed(optim::sgd({}), DType::f16);
  test::load(resumed.ctx,
             test::save(first.ctx, first.store, *first.optimizer),
             resumed.store,
             *resumed.optimizer);
  CHECK(resumed.optimizer->read_control().loss_scale == 1024);
  resumed.run(3);  // the fourth of growth_interval
  CHECK(resumed.optimizer->read_control().loss_scale == 2048);
}

TEST_CASE("overflows in a row lower the loss scale, though the training was resumed between") {
  Step first(optim::sgd({}), DType::f16);
  first.options.hysteresis = 2;
  first.run(0);
  first.run(1, "a.weight");
  CHECK(first.optimizer->read_control().loss_scale == 1024);
  Step resumed(optim::sgd({}), DType::f16);
  resumed.options.hysteresis = 2;
  test::load(resumed.ctx,
             test::save(first.ctx, first.store, *first.optimizer),
             resumed.store,
             *resumed.optimizer);
  resumed.run(2, "a.weight");
  CHECK(resumed.optimizer->read_control().loss_scale == 512);
}

TEST_CASE("gradients of frozen parameters are not checked") {
  Step step(optim::sgd({}), DType::f16);
  step.store.freeze_to(1, false);
  step.run(0, "a.weight");
  CHECK(step.optimizer->read_control().found_inf == 0);
  step.run(1, "b.weight");
  CHECK(step.optimizer->read_control().found_inf == 1);
}
