#include "framework/optim/optimizer.h"

#include "framework/kernels/cast/cast.h"
#include "framework/optim/adam.h"
#include "framework/optim/rmsprop.h"
#include "framework/optim/sgd.h"
#include "framework/tensor/factory.h"
#include "tests/optim/small_net.h"
#include "tests/support/compare.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace learn;
using optim::OptimizerFactory;

namespace {

/// Every kind of kernel, with decay on, so that all code paths run.
std::vector<std::pair<std::string, OptimizerFactory>> every_kind(bool flat) {
  return {
      {"sgd plain", optim::sgd({.lr = 0.1F, .weight_decay = 0.1F, .flat = flat})},
      {"sgd momentum", optim::sgd({.lr = 0.1F, .momentum = 0.9F, .flat = flat})},
      {"sgd nesterov",
       optim::sgd(
           {.lr = 0.1F, .momentum = 0.9F, .nesterov = true, .decay_bn_bias = true, .flat = flat})},
      {"adam", optim::adam({.lr = 0.1F, .weight_decay = 0.1F, .flat = flat})},
      {"adamw", optim::adamw({.lr = 0.1F, .weight_decay = 0.1F, .flat = flat})},
      {"rmsprop", optim::rmsprop({.lr = 0.01F, .flat = flat})},
      {"rmsprop all",
       optim::rmsprop({.lr = 0.01F, .momentum = 0.9F, .centered = true, .flat = flat})},
  };
}

/// Masters and all state after a few steps.
struct Trained {
  Context ctx;
  nn::ParamStore store;
  std::unique_ptr<optim::Optimizer> optimizer;

  Trained(const OptimizerFactory& factory, int threads, DType working, bool large)
      : ctx({.threads = threads, .arena = {.poison = true}}) {
    test::declare_small_net(store, large);
    store.materialize(ctx);
    store.set_layer_groups({"b", "c"});
    store.set_working_dtype(working);
    optimizer = factory(store);
  }
  void step(std::int64_t number) {
    test::random_gradients(store, number);
    for (std::int64_t i = 0; i < store.size(); ++i) {  // f32 gradients of the half parameters
      Tensor full = store.master_grad(i);
      if (store.slot(i).grad.dtype() != DType::f32) kernels::cast(ctx, store.slot(i).grad, full);
    }
    optimizer->step();
  }
};

bool same_everything(Trained& a, Trained& b) {
  bool same = static_cast<bool>(same_bits(a.store.flat_master(), b.store.flat_master()));
  for (auto& [name, state] : a.store.states())
    same = same && same_bits(state.values, b.store.state(name));
  if (a.store.flat_half().defined())
    same = same && same_bits(a.store.flat_half(), b.store.flat_half());
  return same;
}

}  // namespace

TEST_CASE("one pass per run and one per parameter give the same bits, for any number of threads") {
  const auto flats = every_kind(true);
  const auto singles = every_kind(false);
  for (const DType working : {DType::f32, DType::f16, DType::bf16})
    for (std::size_t k = 0; k < flats.size(); ++k) {
      const auto& [name, flat] = flats[k];
      const std::string& kind = name;  // clang captures no binding
      CAPTURE(kind);
      CAPTURE(working);
      Trained runs(flat, 1, working, true);
      Trained threaded(flat, 3, working, true);
      Trained single(singles[k].second, 1, working, true);
      const Tensor before = test::snapshot(runs.store, runs.store.flat_master());
      for (Trained* t : {&runs, &threaded, &single})
        for (int step = 0; step < 3; ++step) t->step(step);
      CHECK_FALSE(same_bits(before, runs.store.flat_master()));
      CHECK(same_everything(runs, single));
      CHECK(same_everything(runs, threaded));
    }
}

TEST_CASE("gaps stay zero and half copies stay the rounded masters") {
  for (const auto& [name, factory] : every_kind(true)) {
    const std::string& kind = name;  // clang captures no binding
    CAPTURE(kind);
    Trained t(factory, 2, DType::f16, false);
    for (int step = 0; step < 3; ++step) t.step(step);
    std::vector<bool> used(static_cast<std::size_t>(t.store.flat_size()));
    for (std::int64_t i = 0; i < t.store.size(); ++i) {
      const Tensor value = t.store.slot(i).value;
      for (std::int64_t k = 0; k < value.elements(); ++k) {
        used[static_cast<std::size_t>(t.store.offset(i) + k)] = true;
        const auto master = static_cast<float>(get(t.store.master(i), k));
        const float rounded = value.dtype() == DType::f16 ? to_float(to_half(master)) : master;
        CHECK(get(value, k) == static_cast<double>(rounded));
      }
    }
    for (std::int64_t k = 0; k < t.store.flat_size(); ++k) {
      if (used[static_cast<std::size_t>(k)]) continue;
      CHECK(get(t.store.flat_master(), k) == 0);
      CHECK(get(t.store.flat_half(), k) == 0);
      for (auto& [state_name, state] : t.store.states()) CHECK(get(state.values, k) == 0);
    }
  }
}

TEST_CASE("norms and biases are not decayed unless asked") {
  for (const bool decay_bn_bias : {false, true}) {
    CAPTURE(decay_bn_bias);
    Trained t(optim::sgd({.lr = 0.5F, .weight_decay = 0.5F, .decay_bn_bias = decay_bn_bias}),
              1,
              DType::f32,
              false);
    const Tensor before = test::snapshot(t.store, t.store.flat_master());
    t.optimizer->step();  // gradients are zero: only decay acts
    for (std::int64_t i = 0; i < t.store.size(); ++i) {
      const bool decays = t.store.info(i).role == nn::ParamRole::weight || decay_bn_bias;
      CAPTURE(t.store.info(i).name);
      const double expected = (decays ? 0.75 : 1) * get(before, t.store.offset(i) + 1);
      CHECK(get(t.store.master(i), 1) == static_cast<double>(static_cast<float>(expected)));
    }
    t.optimizer->set_weight_decay(0.25F);
    CHECK(t.optimizer->hypers(2).weight_decay == 0.25F);
    CHECK(t.optimizer->hypers(3).weight_decay == (decay_bn_bias ? 0.25F : 0));
  }
}

TEST_CASE("norms and biases have another learning rate and the same decay in a step") {
  for (const optim::WeightDecay decay :
       {optim::WeightDecay::coupled, optim::WeightDecay::decoupled}) {
    Trained t(optim::sgd({.lr = 0.25F,
                          .weight_decay = 0.5F,
                          .decay = decay,
                          .decay_bn_bias = true,
                          .bn_bias_lr = 8}),
              1,
              DType::f32,
              false);
    const Tensor before = test::snapshot(t.store, t.store.flat_master());
    for (std::int64_t i = 0; i < t.store.size(); ++i) {
      Tensor gradient = t.store.master_grad(i);
      set(gradient, 1, 0.125);
    }
    t.optimizer->set_lr_factor(0.5F);
    t.optimizer->step();
    for (std::int64_t i = 0; i < t.store.size(); ++i) {
      CAPTURE(t.store.info(i).name);
      const double rate = nn::is_weight(t.store.info(i).role) ? 0.125 : 1;
      const double w = get(before, t.store.offset(i) + 1);
      CHECK(get(t.store.master(i), 1) ==
            doctest::Approx(w - rate * 0.125 - 0.125 * 0.5 * w).epsilon(1e-6));
    }
    CHECK(t.optimizer->lr(0) == 0.125F);
    CHECK(t.optimizer->hypers(1).lr == 0.25F);
  }
  CHECK_THROWS_AS(Trained(optim::sgd({.bn_bias_lr = 0}), 1, DType::f32, false), UsageError);
}

TEST_CASE("coupled decay passes through the momentum and decoupled decay does not") {
  const auto buffer_after = [](optim::WeightDecay decay) {
    Trained t(optim::sgd({.lr = 0.5F, .momentum = 0.9F, .weight_decay = 0.5F, .decay = decay}),
              1,
              DType::f32,
              false);
    const double w = get(t.store.master(0), 0);
    t.optimizer->step();
    return std::pair(w, get(t.store.state("momentum_buffer"), t.store.offset(0)));
  };
  const auto [w, coupled] = buffer_after(optim::WeightDecay::coupled);
  CHECK(coupled == 0.5 * w);
  CHECK(buffer_after(optim::WeightDecay::decoupled).second == 0);
}

TEST_CASE("each layer group has its own learning rate and momentum") {
  Trained t(optim::sgd({.lr = 1}), 1, DType::f32, false);
  t.step(9);  // with one rate for all, which is on the device now
  t.optimizer->set_lrs({0, 0.25, 0.5});
  CHECK(t.optimizer->lr(1) == 0.25F);
  const Tensor before = test::snapshot(t.store, t.store.flat_master());
  t.step(0);
  const auto rate = [&](const char* name) {
    const std::int64_t at = t.store.offset(t.store.find(name));
    return (get(before, at) - get(t.store.flat_master(), at)) / get(t.store.flat_grad(), at);
  };
  CHECK(rate("a.weight") == 0);
  CHECK(rate("a.bn.bias") == 0);
  // A difference of values below 1 rounded to 2^-25, divided by gradients above 1e-2.
  CHECK(rate("b.weight") == doctest::Approx(0.25).epsilon(1e-5));
  CHECK(rate("b.bias") == doctest::Approx(0.25).epsilon(1e-5));
  CHECK(rate("d.weight") == doctest::Approx(0.5).epsilon(1e-5));
  CHECK_THROWS_WITH_AS(
      t.optimizer->set_lrs({1, 2}), doctest::Contains("3 layer groups"), UsageError);
  t.optimizer->set_momentum(0.5F);
  CHECK(t.optimizer->hypers(5).momentum == 0.5F);
}

TEST_CASE("a factor scales all learning rates and changes no setting") {
  const auto factory = optim::sgd({.lr = 0.25F, .weight_decay = 0.1F});
  Trained scaled(factory, 1, DType::f32, false);
  Trained slower(optim::sgd({.lr = 0.125F, .weight_decay = 0.1F}), 1, DType::f32, false);
  scaled.optimizer->set_lr_factor(0.5F);
  CHECK(scaled.optimizer->lr(1) == 0.125F);
  CHECK(scaled.optimizer->hypers(2).lr == 0.25F);
  scaled.step(0);
  slower.step(0);
  CHECK(same_everything(scaled, slower));
  scaled.optimizer->set_lr(1, 0.5F);  // as a schedule does
  slower.optimizer->set_lr(1, 0.25F);
  scaled.step(1);
  slower.step(1);
  CHECK(same_everything(scaled, slower));
  scaled.optimizer->set_lr_factor(0.25F);  // and nothing else changes
  slower.optimizer->set_lrs({0.0625, 0.125, 0.0625});
  scaled.step(2);
  slower.step(2);
  CHECK(same_everything(scaled, slower));
  scaled.optimizer->set_lr_factor(0.5F);

  Trained other(factory, 1, DType::f32, false);
  test::load(other.ctx,
             test::save(scaled.ctx, scaled.store, *scaled.optimizer),
             other.store,
             *other.optimizer);
  CHECK(other.optimizer->lr_factor() == 0.5F);
  for (const float wrong : {0.0F, -1.0F, 1.5F, std::numeric_limits<float>::quiet_NaN()})
    CHECK_THROWS_AS(scaled.optimizer->set_lr_factor(wrong), UsageError);
}

TEST_CASE("the multiplier scales the gradients of one step only") {
  Trained t(optim::sgd({.lr = 1}), 1, DType::f32, false);
  const double before = get(t.store.master(0), 0);
  StepControl control = t.optimizer->read_control();
  control.grad_multiplier = 0.5F;
  t.optimizer->write_control(control);
  t.step(0);
  const double grad = get(t.store.master_grad(0), 0);
  CHECK(get(t.store.master(0), 0) == doctest::Approx(before - 0.5 * grad).epsilon(1e-6));
  CHECK(t.optimizer->read_control().grad_multiplier == 1);
  CHECK(t.optimizer->read_control().step == 1);
}

TEST_CASE("groups may change in the middle of training") {
  Trained plain(optim::adamw({.lr = 0.1F, .weight_decay = 0.1F}), 1, DType::f16, false);
  Trained moved(optim::adamw({.lr = 0.1F, .weight_decay = 0.1F}), 1, DType::f16, false);
  for (int step = 0; step < 4; ++step) {
    if (step == 2) {
      moved.store.set_layer_groups({"a", "a.bn", "c", "d"});
      moved.optimizer->groups_changed();
      CHECK(moved.optimizer->hypers(9).lr == 0.1F);
      CHECK(moved.optimizer->hypers(9).weight_decay == 0);
      CHECK(moved.optimizer->hypers(8).weight_decay == 0.1F);
    }
    plain.step(step);
    moved.step(step);
  }
  for (std::int64_t i = 0; i < plain.store.size(); ++i) {
    CAPTURE(plain.store.info(i).name);
    CHECK(same_bits(plain.store.master(i), moved.store.master(i)));
    CHECK(same_bits(plain.store.slot(i).value, moved.store.slot(i).value));
  }
}

TEST_CASE("groups that are added have the rates of the last one") {
  Trained t(optim::sgd({.lr = 1}), 1, DType::f32, false);
  t.optimizer->set_lrs({0.125, 0.25, 0.5});
  t.store.set_layer_groups({"a.bn", "b", "c", "d"});
  t.optimizer->groups_changed();
  CHECK(t.optimizer->hypers(5).lr == 0.5F);
  for (const int added : {6, 7, 8, 9}) CHECK(t.optimizer->hypers(added).lr == 0.5F);
}

TEST_CASE("a saved optimizer continues with the same bits") {
  for (const auto& [name, factory] : every_kind(true)) {
    const std::string& kind = name;  // clang captures no binding
    CAPTURE(kind);
    Trained straight(factory, 1, DType::bf16, false);
    Trained first(factory, 1, DType::bf16, false);
    Trained resumed(factory, 1, DType::bf16, false);
    first.optimizer->set_lrs({0.01, 0.02, 0.03});
    straight.optimizer->set_lrs({0.01, 0.02, 0.03});
    for (int step = 0; step < 3; ++step) first.step(step);
    resumed.step(9);  // with its own rates, which are on the device now
    test::load(resumed.ctx,
               test::save(first.ctx, first.store, *first.optimizer),
               resumed.store,
               *resumed.optimizer);
    CHECK(resumed.optimizer->lr(1) == 0.02F);
    CHECK(resumed.optimizer->read_control().step == 3);
    for (int step = 0; step < 5; ++step) straight.step(step);
    for (int step = 3; step < 5; ++step) resumed.step(step);
    CHECK(same_everything(straight, resumed));
  }
}

TEST_CASE("a checkpoint of other layer groups is refused") {
  Trained saved(optim::sgd({}), 1, DType::f32, false);
  Trained other(optim::sgd({}), 1, DType::f32, false);
  other.store.set_layer_groups({});
  other.optimizer->groups_changed();
  const test::MemoryState memory = test::save(saved.ctx, *saved.optimizer);
  CHECK_THROWS_WITH_AS(test::load(other.ctx, memory, *other.optimizer),
                       doctest::Contains("3 layer groups"),
                       CheckpointError);
}

TEST_CASE("a checkpoint's hyper-parameters are refused where the same options are") {
  Trained t(optim::adam({}), 1, DType::f32, false);
  const test::MemoryState good = test::save(t.ctx, *t.optimizer);
  CHECK_NOTHROW(test::load(t.ctx, good, *t.optimizer));
  for (const auto& [name, wrong] : {std::pair<std::string, double>{"lr", -1},
                                    {"lr", std::numeric_limits<double>::quiet_NaN()},
                                    {"momentum", 1},
                                    {"dampening", std::numeric_limits<double>::infinity()},
                                    {"beta2", 1},
                                    {"eps", 0},
                                    {"weight_decay", -1}}) {
    test::MemoryState damaged = good;
    damaged.reals.at("group1." + name) = wrong;
    CHECK_THROWS_WITH_AS(test::load(t.ctx, damaged, *t.optimizer),
                         doctest::Contains(("'group1." + name + "' is").c_str()),
                         CheckpointError);
  }
}

TEST_CASE("options that make no sense are refused") {
  Trained t(optim::sgd({}), 1, DType::f32, false);
  CHECK_THROWS_AS((void)optim::sgd({.nesterov = true})(t.store), UsageError);
  CHECK_THROWS_AS(
      (void)optim::sgd({.momentum = 0.9F, .dampening = 0.1F, .nesterov = true})(t.store),
      UsageError);
  CHECK_THROWS_AS((void)optim::sgd({.lr = -1})(t.store), UsageError);
  CHECK_THROWS_AS((void)optim::sgd({.momentum = 1})(t.store), UsageError);
  CHECK_THROWS_AS((void)optim::adam({.eps = 0})(t.store), UsageError);
  CHECK_THROWS_AS((void)optim::adam({.beta2 = 1})(t.store), UsageError);
  CHECK_THROWS_WITH_AS(
      t.optimizer->set_hypers(6, {}), doctest::Contains("there are 6"), UsageError);
  CHECK_THROWS_AS(t.optimizer->set_lrs(std::numeric_limits<double>::quiet_NaN()), UsageError);
  nn::ParamStore wide;
  test::declare_small_net(wide);
  wide.materialize(t.ctx, DType::f64);
  CHECK_THROWS_WITH_AS((void)optim::sgd({})(wide), doctest::Contains("f64"), DTypeError);
}

TEST_CASE("options of optimizers take what a program has computed in double") {
  const double computed = 0.1 * 0.5;
  const auto hypers = [](const OptimizerFactory& make) {
    Context ctx({.device = Device::cpu()});
    nn::ParamStore store;
    test::declare_small_net(store);
    store.materialize(ctx);
    return make(store)->hypers(0);
  };
  for (const GroupHypers& found :
       {hypers(optim::adamw({.lr = computed, .weight_decay = computed})),
        hypers(optim::adam({.lr = computed, .weight_decay = computed})),
        hypers(optim::sgd({.lr = computed, .weight_decay = computed})),
        hypers(optim::rmsprop({.lr = computed, .weight_decay = computed}))}) {
    CHECK(found.lr == 0.05F);
    CHECK(found.weight_decay == 0.05F);
  }
  CHECK(hypers(optim::adamw({.beta1 = 1 - computed})).momentum == 0.95F);
}
