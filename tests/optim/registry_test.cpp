#include "framework/optim/registry.h"

#include "tests/optim/small_net.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

using namespace learn;

namespace {

std::unique_ptr<optim::Optimizer> made(nn::ParamStore& store, const char* spec) {
  return optim::optimizer_registry().make(spec)().make(store);
}

}  // namespace

TEST_CASE("optimizers are made by name with the options they know") {
  Context ctx({.threads = 1});
  nn::ParamStore store;
  test::declare_small_net(store);
  store.materialize(ctx);
  const auto registry = optim::optimizer_registry();
  for (const std::string& name : registry.names()) {
    CAPTURE(name);
    CHECK_FALSE(registry.help(name).empty());
    CHECK(registry.make(name)().usual_lr > 0);
    const auto optimizer = made(store, (name + ":weight_decay=0.125").c_str());
    CHECK(optimizer->name() == name);
    CHECK(optimizer->hypers(0).weight_decay == 0.125F);
    CHECK(optimizer->hypers(1).weight_decay == 0);
    CHECK(made(store, (name + ":weight_decay=0.125,decay_bn_bias=true").c_str())
              ->hypers(1)
              .weight_decay == 0.125F);
  }
  CHECK(made(store, "sgd")->hypers(0).momentum == 0.9F);
  for (const char* name : {"sgd", "rmsprop", "adam", "adamw"})
    CHECK(made(store, fmt::format("{}:momentum=0.5", name).c_str())->hypers(0).momentum == 0.5F);
  CHECK(made(store, "rmsprop:beta2=0.5")->hypers(0).beta2 == 0.5F);
  CHECK(made(store, "adamw:eps=1e-8")->hypers(0).eps == 1e-8F);
  CHECK(made(store, "adam")->options().decay == optim::WeightDecay::coupled);
  CHECK(made(store, "adamw")->options().decay == optim::WeightDecay::decoupled);
  CHECK(made(store, "sgd:decay=coupled")->options().decay == optim::WeightDecay::coupled);
  CHECK_FALSE(made(store, "adam:flat=false")->options().flat);
}

TEST_CASE("options an optimizer does not know are refused") {
  const auto registry = optim::optimizer_registry();
  const auto refused = [&](const char* spec, const char* why) {
    CAPTURE(spec);
    CHECK_THROWS_WITH_AS((void)registry.make(spec), doctest::Contains(why), UsageError);
  };
  refused("adam:nesterov=true", "adam has no option 'nesterov'");
  refused("adamw:decay=coupled", "adamw has no option 'decay'");
  refused("sgd:beta2=0.9", "sgd has no option 'beta2'");
  refused("rmsprop:dampening=0.9", "rmsprop has no option 'dampening'");
  refused("sgd:lr=0.1", "sgd has no option 'lr'");
  refused("adam:momentum=1", "1 is not in [0, 1)");
  refused("adamx", "did you mean 'adam'?");
}

TEST_CASE("schedules are made by name, of the value they are given") {
  const auto registry = optim::schedule_registry();
  for (const std::string& name : registry.names()) {
    CAPTURE(name);
    const optim::Course one = registry.make(name)(1, 12);
    const optim::Course two = registry.make(name)(2, 12);
    for (const double t : {0.0, 0.1, 0.3, 0.5, 0.8, 0.999}) {
      CHECK(one.lr(t) >= 0);
      CHECK(two.lr(t) == doctest::Approx(2 * one.lr(t)).epsilon(1e-12));
    }
    CHECK(static_cast<bool>(one.momentum) == (name == "one-cycle"));
    // All of them can start with a rise; only one-cycle's starts above 0.
    const optim::Course warm = registry.make(name + ":warmup=0.2")(1, 12);
    CHECK(warm.lr(0) == doctest::Approx(name == "one-cycle" ? 0.04 : 0));
    CHECK(warm.lr(0.2) == doctest::Approx(name == "one-cycle" ? 1 : one.lr(0)));
  }
  const auto at = [&](const char* spec, double t) { return registry.make(spec)(2, 12).lr(t); };
  CHECK(at("const", 0.7) == 2);
  CHECK(at("linear:end=0.5", 0.5) == doctest::Approx(1.5));
  CHECK(at("cosine", 0.5) == doctest::Approx(1));
  CHECK(at("exponential:end=0.01", 0.5) == doctest::Approx(0.2));
  CHECK(at("polynomial:power=3", 0.5) == doctest::Approx(0.25));
  CHECK(at("step", 0.6) == doctest::Approx(0.2));
  CHECK(at("step:at=0.1:0.2,factor=0.5", 0.3) == doctest::Approx(0.5));
  CHECK(at("flat-cos", 0.7) == 2);
  CHECK(at("one-cycle:div=10", 0) == doctest::Approx(0.2));
  CHECK(at("one-cycle:warmup=0.5", 0.5) == doctest::Approx(2));
  CHECK(at("one-cycle:warmup=0.3,rise=line", 3.0 / 12) < 2);
  CHECK(at("one-cycle:warmup=0.3,rise=line,whole_steps=true", 3.0 / 12) == 2);  // of 3.6 steps
  CHECK(at("sgdr:cycles=2,cycle_mult=1", 0.5) == doctest::Approx(2));
  // The triangle of airbench: from 0.2 up to 1, and down to 0.07.
  const char* const triangle = "linear:end=0.07,warmup=0.25,warmup_start=0.2";
  CHECK(at(triangle, 0) == doctest::Approx(0.4));
  CHECK(at(triangle, 0.125) == doctest::Approx(1.2));
  CHECK(at(triangle, 0.25) == doctest::Approx(2));
  CHECK(at(triangle, 1) == doctest::Approx(0.14));
  const auto refused = [&](const char* spec, const char* why) {
    CAPTURE(spec);
    CHECK_THROWS_WITH_AS((void)registry.make(spec)(1, 0), doctest::Contains(why), UsageError);
  };
  refused("magic", "unknown schedule 'magic'");
  refused("cosine:power=2", "cosine has no option 'power'");
  refused("one-cycle:warmup=0", "0 is not in (0, 1)");
  refused("one-cycle:whole_steps=true", "needs a schedule of the whole training");
  refused("exponential:end=0", "positive");
  refused("step:at=0.5:0.2", "ascend");
}
