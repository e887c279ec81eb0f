#include "framework/optim/registry.h"

#include "tests/optim/small_net.h"

#include <doctest/doctest.h>

using namespace learn;

TEST_CASE("optimizers are made by name with the options they know") {
  Context ctx({.threads = 1});
  nn::ParamStore store;
  test::declare_small_net(store);
  store.materialize(ctx);
  const auto registry = optim::optimizers();
  for (const auto& [name, entry] : registry.entries()) {
    const std::string& kind = name;  // clang captures no binding
    CAPTURE(kind);
    CHECK(entry.help.size() > 20);
    const auto made = entry.value({.lr = 0.25F, .momentum = 0.5F, .weight_decay = 0.125F})(store);
    CHECK(made->name() == name);
    CHECK(made->hypers(0).lr == 0.25F);
    CHECK(made->hypers(0).momentum == 0.5F);
    CHECK(made->hypers(0).weight_decay == 0.125F);
    CHECK(made->hypers(1).weight_decay == 0);
  }
  CHECK(registry.at("rmsprop").value({.beta2 = 0.5F})(store)->hypers(0).beta2 == 0.5F);
  CHECK(registry.at("adam").value({})(store)->options().decay == optim::WeightDecay::coupled);
  CHECK(registry.at("adamw").value({})(store)->options().decay == optim::WeightDecay::decoupled);
  CHECK(registry.at("sgd").value({.decay = optim::WeightDecay::coupled})(store)->options().decay ==
        optim::WeightDecay::coupled);
}

TEST_CASE("options an optimizer does not know are refused") {
  const auto registry = optim::optimizers();
  CHECK_THROWS_WITH_AS((void)registry.at("adam").value({.nesterov = true}),
                       doctest::Contains("'nesterov'"),
                       UsageError);
  CHECK_THROWS_AS((void)registry.at("adamw").value({.decay = optim::WeightDecay::coupled}),
                  UsageError);
  CHECK_THROWS_AS((void)registry.at("sgd").value({.beta2 = 0.9F}), UsageError);
  CHECK_THROWS_AS((void)registry.at("rmsprop").value({.dampening = 0.9F}), UsageError);
  CHECK_THROWS_WITH_AS(
      (void)registry.at("lion"), doctest::Contains("adam, adamw, rmsprop, sgd"), UsageError);
}
