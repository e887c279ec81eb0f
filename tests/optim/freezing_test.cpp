#include "framework/optim/adam.h"
#include "tests/optim/small_net.h"
#include "tests/support/compare.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

using namespace learn;

namespace {

/// A net of one layer group per module under Adam.
struct Net {
  Context ctx{{.threads = 1}};
  nn::ParamStore store;
  std::unique_ptr<optim::Optimizer> optimizer;
  explicit Net(bool flat = true) {
    test::declare_small_net(store);
    store.materialize(ctx);
    store.set_layer_groups({"b", "c", "d"});
    optimizer = optim::adamw({.lr = 0.1F, .weight_decay = 0.1F, .flat = flat})(store);
  }
  void steps(int from, int to) {
    for (int step = from; step < to; ++step) {
      test::random_gradients(store, step);
      optimizer->step();
    }
  }
  [[nodiscard]] Tensor mean_of(const char* name) {
    const std::int64_t i = store.find(name);
    return store.state("mean").range(store.offset(i), store.info(i).shape.elements());
  }
};

}  // namespace

TEST_CASE("frozen groups are untouched and keep their state") {
  Net net;
  net.steps(0, 2);
  const auto host = [&](const Tensor& t) { return test::snapshot(net.store, t); };
  const Tensor weight = host(net.store.master(net.store.find("a.weight")));
  const Tensor bias = host(net.store.master(net.store.find("b.bias")));
  const Tensor mean = host(net.mean_of("a.weight"));
  const Tensor norm = host(net.store.master(net.store.find("a.bn.weight")));
  net.store.freeze_to(2);
  net.steps(2, 5);
  CHECK(same_bits(weight, net.store.master(net.store.find("a.weight"))));
  CHECK(same_bits(bias, net.store.master(net.store.find("b.bias"))));
  CHECK(same_bits(mean, net.mean_of("a.weight")));
  CHECK_FALSE(same_bits(norm, net.store.master(net.store.find("a.bn.weight"))));
  net.store.unfreeze();
  net.steps(5, 6);
  CHECK_FALSE(same_bits(weight, net.store.master(net.store.find("a.weight"))));
}

TEST_CASE("a parameter counts its own steps, whichever others were frozen meanwhile") {
  // A net that sees only the gradients of the steps in which "a" is trained treats "a" alike.
  for (const bool flat : {true, false}) {
    Net frozen(flat);
    frozen.steps(0, 2);
    frozen.store.freeze_to(1, false);
    frozen.steps(10, 13);
    frozen.store.unfreeze();
    frozen.steps(2, 3);
    frozen.store.freeze_to(3, false);
    frozen.steps(20, 21);
    frozen.store.unfreeze();
    frozen.steps(3, 5);
    Net straight;
    straight.steps(0, 5);
    for (const char* name : {"a.weight", "a.bias", "a.bn.weight"}) {
      CAPTURE(name);
      CHECK(same_bits(frozen.store.master(frozen.store.find(name)),
                      straight.store.master(straight.store.find(name))));
      CHECK(same_bits(frozen.mean_of(name), straight.mean_of(name)));
    }
    CHECK_FALSE(same_bits(frozen.store.master(frozen.store.find("d.weight")),
                          straight.store.master(straight.store.find("d.weight"))));
  }
}

TEST_CASE("the steps that parameters missed are saved, of those still frozen too") {
  const auto begin = [](Net& net) {
    net.steps(0, 2);
    net.store.freeze_to(2, false);
    net.steps(2, 5);
    net.store.freeze_to(1, false);  // "b" is trained again, "a" is not yet
    net.steps(5, 6);
  };
  const auto go_on = [](Net& net) {
    net.store.unfreeze();
    net.steps(6, 8);
  };
  Net straight;
  begin(straight);
  Net resumed;
  resumed.store.freeze_to(1, false);
  test::load(resumed.ctx,
             test::save(straight.ctx, straight.store, *straight.optimizer),
             resumed.store,
             *resumed.optimizer);
  go_on(straight);
  go_on(resumed);
  CHECK(same_bits(straight.store.flat_master(), resumed.store.flat_master()));
  CHECK(same_bits(straight.store.state("mean"), resumed.store.state("mean")));
}

TEST_CASE(
    "norms that are trained in frozen groups count more steps than their neighbours, flat or not") {
  Net flat(true);
  Net each(false);
  for (Net* net : {&flat, &each}) {
    net->steps(0, 2);
    net->store.freeze_to(2, true);
    net->steps(2, 5);
    net->store.unfreeze();
    net->steps(5, 7);
  }
  for (std::int64_t i = 0; i < flat.store.size(); ++i) {
    CAPTURE(flat.store.info(i).name);
    CHECK(same_bits(flat.store.master(i), each.store.master(i)));
  }
  CHECK(same_bits(flat.store.state("mean"), each.store.state("mean")));
}

TEST_CASE("every subset of frozen parameters leaves just them alone") {
  for (const bool flat : {true, false})
    for (unsigned subset = 0; subset < 1U << 7U; ++subset) {
      Net net(flat);
      Net whole;
      for (std::int64_t i = 0; i < 7; ++i)
        net.store.slot(i).trainable = (subset >> static_cast<unsigned>(i) & 1U) == 0;
      const Tensor before = test::snapshot(net.store, net.store.flat_master());
      net.steps(0, 1);
      whole.steps(0, 1);
      for (std::int64_t i = 0; i < net.store.size(); ++i) {
        const Tensor expected =
            net.store.slot(i).trainable
                ? whole.store.master(i)
                : before.range(net.store.offset(i), net.store.info(i).shape.elements())
                      .view(net.store.info(i).shape);
        if (!same_bits(expected, net.store.master(i))) {
          CAPTURE(subset);
          FAIL_CHECK(net.store.info(i).name);
        }
      }
    }
}
