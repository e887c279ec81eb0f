#include "framework/optim/adam.h"
#include "framework/optim/rmsprop.h"
#include "framework/optim/schedule.h"
#include "framework/optim/sgd.h"
#include "framework/tensor/factory.h"
#include "tests/golden/optim_values.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>

using namespace learn;
using optim::WeightDecay;
namespace golden = learn::test::golden;

namespace {

constexpr int kSize = 6;

double weight_of(int i) { return (i * 29 % 23 - 11) / 8.0; }
double gradient_of(int step, int i) {
  return ((step * 37 + i * 101 + 17 * step * i) % 97 - 48) / 64.0;
}

/// The options of make_optim.py. PyTorch's weight decay of SGD and RMSProp is coupled.
std::map<std::string, optim::OptimizerFactory> factories() {
  const auto coupled = WeightDecay::coupled;
  std::map<std::string, optim::OptimizerFactory> made{
      {"sgd", optim::sgd({.lr = 0.05F})},
      {"sgd_momentum", optim::sgd({.lr = 0.05F, .momentum = 0.9F})},
      {"sgd_dampening", optim::sgd({.lr = 0.05F, .momentum = 0.9F, .dampening = 0.3F})},
      {"sgd_nesterov_decay",
       optim::sgd({.lr = 0.05F,
                   .momentum = 0.9F,
                   .nesterov = true,
                   .weight_decay = 0.01F,
                   .decay = coupled})},
      {"sgd_dampening_decay",
       optim::sgd({.lr = 0.02F,
                   .momentum = 0.8F,
                   .dampening = 0.5F,
                   .weight_decay = 0.1F,
                   .decay = coupled})},
      {"adam", optim::adam({.lr = 0.02F, .beta2 = 0.999F, .eps = 1e-8F})},
      {"adam_fastai", optim::adam({.lr = 0.02F})},
      {"adam_decay",
       optim::adam({.lr = 0.02F, .beta2 = 0.999F, .eps = 1e-8F, .weight_decay = 0.1F})},
      {"adamw", optim::adamw({.lr = 0.02F, .beta2 = 0.999F, .eps = 1e-8F, .weight_decay = 0.1F})},
      {"adamw_fastai", optim::adamw({.lr = 0.003F, .beta1 = 0.95F, .weight_decay = 0.01F})},
      {"rmsprop", optim::rmsprop({.lr = 0.01F, .eps = 1e-8F})},
      {"rmsprop_momentum",
       optim::rmsprop({.lr = 0.01F,
                       .alpha = 0.9F,
                       .momentum = 0.9F,
                       .eps = 1e-8F,
                       .weight_decay = 0.05F,
                       .decay = coupled})},
      {"rmsprop_centered", optim::rmsprop({.lr = 0.01F, .centered = true, .eps = 1e-8F})},
      {"rmsprop_centered_momentum",
       optim::rmsprop({.lr = 0.01F, .alpha = 0.95F, .momentum = 0.5F, .centered = true})},
  };
  for (const char* name : {"sgd_dampening", "adam", "rmsprop_centered_momentum"})
    made.emplace(std::string(name) + "_unfrozen_at_4", made.at(name));
  return made;
}

/// Weights after each step; the parameter is frozen before step `frozen_until`.
void follow(Context& ctx,
            const optim::OptimizerFactory& factory,
            const std::vector<std::vector<float>>& rows,
            int frozen_until) {
  nn::ParamStore store;
  store.declare("w", {kSize}, nn::ParamRole::weight, [](Tensor& values, auto, auto) {
    for (int i = 0; i < kSize; ++i) set(values, i, weight_of(i));
  });
  store.materialize(ctx);
  const auto optimizer = factory(store);
  for (int step = 0; step < static_cast<int>(rows.size()); ++step) {
    store.slot(0).trainable = step >= frozen_until;
    for (int i = 0; i < kSize; ++i) set(store.slot(0).grad, i, gradient_of(step, i));
    optimizer->step();
    for (int i = 0; i < kSize; ++i) {
      CAPTURE(step);
      CAPTURE(i);
      const double wanted =
          static_cast<double>(rows[static_cast<std::size_t>(step)][static_cast<std::size_t>(i)]);
      // A few roundings per step (2^-24 of values below 2 each, whether or not products are fused),
      // carried through 12 steps by momentum.
      CHECK(std::abs(get(store.slot(0).value, i) - wanted) < 2e-6);
    }
  }
}

/// Schedule against values at t = first, first + delta, ...
void compare(const optim::Schedule& schedule,
             const char* name,
             double steps,
             double relative = 1e-12) {
  CAPTURE(name);
  const std::vector<double>& values = golden::kSchedules.at(name);
  REQUIRE(values.size() >= 20);
  for (std::size_t i = 0; i < values.size(); ++i) {
    CAPTURE(i);
    // Double arithmetic on both sides; the absolute part is for the zero at the end of a cosine.
    CHECK(std::abs(schedule(static_cast<double>(i) / steps) - values[i]) <=
          relative * std::abs(values[i]) + 1e-15);
  }
}

}  // namespace

TEST_CASE("optimizers follow PyTorch step by step") {
  const auto made = factories();
  CHECK(made.size() == golden::kTrajectories.size());
  for (const auto& [name, rows] : golden::kTrajectories)
    for (const bool reference : {false, true}) {
      const std::string& kind = name;  // clang captures no binding
      CAPTURE(kind);
      CAPTURE(reference);
      REQUIRE(made.contains(name));
      REQUIRE(rows.size() >= 10);
      Context ctx({.threads = 1, .reference = reference});
      follow(ctx, made.at(name), rows, name.ends_with("_unfrozen_at_4") ? 4 : 0);
    }
}

TEST_CASE("schedules follow PyTorch's schedulers") {
  using namespace optim::schedules;
  // torch's recursive forms gather rounding errors over the steps.
  constexpr double kRecursive = 1e-12;
  compare(cosine(1, 0.01), "torch_cosine", 20, kRecursive);
  compare(polynomial(1, 0, 1.5), "torch_polynomial", 20, kRecursive);
  compare(exponential(1, std::pow(0.8, 20)), "torch_exponential", 20, kRecursive);
  compare(linear(0.1, 1), "torch_linear", 20, kRecursive);
  compare(piecewise({5.0 / 20, 12.0 / 20}, {1, 0.1, 0.01}), "torch_multi_step", 20, kRecursive);
  compare(sgdr(1, 0.001, {.cycles = 3, .cycle_len = 4, .cycle_mult = 2}),
          "torch_warm_restarts",
          28,
          1e-9);  // at a restart, (t - begin) / length of ours may be 1e-16 off
  // torch counts phases to the last step of each: 10 of 40 intervals rise.
  const auto cycle = one_cycle(0.4, {.pct_start = 10.0 / 40, .div = 25, .div_final = 25e4});
  compare(cycle.lr, "torch_one_cycle_lr", 40);
  compare(cycle.momentum, "torch_one_cycle_momentum", 40);
}

TEST_CASE("one-cycle policies follow the three generations of fastai") {
  using namespace optim::schedules;
  const auto v1 = one_cycle(0.1, kOneCycleV1.snapped(25));
  compare(v1.lr, "fastai1_one_cycle_lr", 25);
  compare(v1.momentum, "fastai1_one_cycle_momentum", 25);
  const auto dev_nb = one_cycle(0.1, kOneCycleDevNb.snapped(25));
  compare(dev_nb.lr, "dev_nb_one_cycle_lr", 25);
  compare(dev_nb.momentum, "dev_nb_one_cycle_momentum", 25);
  const auto v2 = one_cycle(0.1);
  compare(v2.lr, "fastai2_one_cycle_lr", 30);
  compare(v2.momentum, "fastai2_one_cycle_momentum", 30);
  compare(flat_cosine(0.1), "fastai2_flat_cos", 30);
  compare(sgdr(0.1, 0, {.cycles = 3, .cycle_len = 3, .cycle_mult = 2}), "fastai2_sgdr", 21, 1e-9);
}
