#include "framework/nn/param_store.h"

#include "framework/tensor/factory.h"
#include "tests/nn/store_net.h"
#include "tests/support/compare.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace learn;
using namespace store_net;

TEST_CASE("an f32 parameter is its own master") {
  Context ctx(poisoned());
  ParamStore store;
  declare_net(store);
  store.materialize(ctx);
  for (std::int64_t i = 0; i < store.size(); ++i) {
    CAPTURE(store.info(i).name);
    CHECK(store.slot(i).value.same_memory(store.master(i)));
    CHECK(store.slot(i).grad.same_memory(store.master_grad(i)));
    CHECK(store.slot(i).value.shape() == store.info(i).shape);
    CHECK(store.offset(i) % ParamStore::kAlign == 0);
  }
  CHECK_FALSE(store.flat_half().defined());
  CHECK(store.parameter_count() == 27 + 3 + 3 + 15 + 5 + 10 + 2);
  CHECK(store.find("fc.bias") == 6);
  CHECK(store.find("fc.bia") == -1);
}

TEST_CASE("the flat order is group by group, castable parameters before norms") {
  Context ctx(poisoned());
  ParamStore store;
  declare_net(store);
  store.materialize(ctx);
  const auto at = [&](const char* name) { return store.offset(store.find(name)); };
  CHECK(at("conv.weight") == 0);
  CHECK(at("conv2.weight") == 32);
  CHECK(at("fc.weight") == 48);
  CHECK(at("conv2.bias") == 64);
  CHECK(at("fc.bias") == 80);
  CHECK(at("conv.bn.weight") == 96);
  CHECK(at("conv.bn.bias") == 112);
  CHECK(store.flat_size() == 128);
  store.set_layer_groups({"conv2"});
  CHECK(at("conv.weight") == 0);
  CHECK(at("conv.bn.weight") == 32);
  CHECK(at("conv2.weight") == 64);
  CHECK(at("fc.weight") == 80);
  CHECK(at("conv2.bias") == 96);
}

TEST_CASE("the gaps are zero in every flat buffer") {
  Context ctx(poisoned());
  ParamStore store;
  declare_net(store);
  store.materialize(ctx);
  store.set_working_dtype(DType::f16);
  for (std::int64_t i = 0; i < store.size(); ++i)
    for (std::int64_t k = 0; k < store.info(i).shape.elements(); ++k)
      set(store.state("ones"), store.offset(i) + k, 1);
  for (const bool moved : {false, true}) {
    CAPTURE(moved);
    if (moved) store.set_layer_groups({"conv.bn", "fc"});
    CHECK(gap_content(store, store.flat_master()) == 0);
    CHECK(gap_content(store, store.flat_grad()) == 0);
    CHECK(gap_content(store, store.flat_half()) == 0);
    CHECK(gap_content(store, store.flat_half_grad()) == 0);
    CHECK(gap_content(store, store.state("ones")) == 0);
    for (const auto& [name, values] : values_by_name(store, store.state("ones")))
      for (const double v : values) CHECK(v == 1);
  }
}

TEST_CASE("moving to other layer groups keeps every value, gradient and state") {
  Context ctx(poisoned());
  ParamStore store;
  declare_net(store);
  store.materialize(ctx);
  store.set_working_dtype(DType::bf16);
  Tensor& momentum = store.state("momentum");
  for (std::int64_t i = 0; i < store.size(); ++i)
    for (std::int64_t k = 0; k < store.info(i).shape.elements(); ++k) {
      set(momentum, store.offset(i) + k, static_cast<double>(100 * i + k));
      set(store.flat_grad(), store.offset(i) + k, static_cast<double>(1000 * i + k));
    }
  const auto masters = values_by_name(store, store.flat_master());
  const auto halves = values_by_name(store, store.flat_half());
  const auto grads = values_by_name(store, store.flat_grad());
  const auto states = values_by_name(store, momentum);
  for (const auto& boundaries : std::vector<std::vector<std::string>>{
           {"conv2"}, {"conv.bn", "conv2", "pool", "fc"}, {"pool"}, {}}) {
    CAPTURE(boundaries.size());
    store.set_layer_groups(boundaries);
    CHECK(store.layer_groups() == static_cast<int>(boundaries.size()) + 1);
    CHECK(values_by_name(store, store.flat_master()) == masters);
    CHECK(values_by_name(store, store.flat_half()) == halves);
    CHECK(values_by_name(store, store.flat_grad()) == grads);
    CHECK(values_by_name(store, momentum) == states);
    for (std::int64_t i = 0; i < store.size(); ++i)
      CHECK(get(store.master(i), 0) == masters.at(store.info(i).name)[0]);
  }
}

TEST_CASE("layer groups may be empty") {
  Context ctx(poisoned());
  ParamStore store;
  declare_net(store);
  store.materialize(ctx);
  // "conv" is the first parameter's module, so group 0 is empty; "pool" and "fc" start at the same
  // parameter, so group 3 is.
  store.set_layer_groups({"conv", "conv2", "pool", "fc"});
  REQUIRE(store.groups() == 10);
  for (const int empty : {0, 1, 6, 7}) CHECK(store.segments(empty).empty());
  CHECK(total(store.segments(2)) == 32);
  CHECK(total(store.segments(3)) == 32);
  CHECK(total(store.segments(8)) == 16);
  std::int64_t all = 0;
  for (int g = 0; g < store.groups(); ++g) all += total(store.segments(g));
  CHECK(all == store.flat_size());
  CHECK_THROWS_AS((void)store.segments(10), Error);
}

TEST_CASE("boundaries must be modules, in model order") {
  Context ctx(poisoned());
  ParamStore store;
  declare_net(store);
  store.materialize(ctx);
  CHECK_THROWS_WITH_AS(store.set_layer_groups({"head"}), doctest::Contains("'head'"), UsageError);
  CHECK_THROWS_WITH_AS(
      store.set_layer_groups({"fc", "conv2"}), doctest::Contains("order"), UsageError);
  CHECK_THROWS_WITH_AS(
      store.set_layer_groups({"fc", "fc"}), doctest::Contains("order"), UsageError);
  CHECK(store.layer_groups() == 1);
}

TEST_CASE("segments are maximal runs, split by precision and by parameter when asked") {
  Context ctx(poisoned());
  ParamStore store;
  declare_net(store);
  store.materialize(ctx);
  CHECK(store.segments(0).size() == 1);
  CHECK(store.segments(0, true).size() == 3);
  CHECK(store.segments(1).size() == 1);
  CHECK(store.half_segments(0).empty());
  CHECK(total(store.full_segments(1)) == 64);
  store.set_working_dtype(DType::f16);
  CHECK(total(store.half_segments(0)) == 64);
  CHECK(store.full_segments(0).empty());
  REQUIRE(store.half_segments(1).size() == 1);
  REQUIRE(store.full_segments(1).size() == 1);
  CHECK(store.half_segments(1)[0].begin == 64);
  CHECK(store.full_segments(1)[0].begin == 96);
  CHECK(store.half_segments(1, true).size() == 2);
  store.slot(store.find("conv2.weight")).trainable = false;
  CHECK(store.segments(0).size() == 2);
}

TEST_CASE("freezing trains the last groups, and norms if asked, and keeps state") {
  Context ctx(poisoned());
  ParamStore store;
  declare_net(store);
  store.materialize(ctx);
  store.set_layer_groups({"conv2", "fc"});
  Tensor& state = store.state("momentum");
  set(state, 0, 3);
  const auto trained = [&] {
    std::string names;
    for (std::int64_t i = 0; i < store.size(); ++i)
      if (store.slot(i).trainable) names += store.info(i).name + " ";
    return names;
  };
  store.freeze_to(-1);
  CHECK(trained() == "conv.bn.weight conv.bn.bias fc.weight fc.bias ");
  CHECK(store.trainable_count() == 3 + 3 + 10 + 2);
  CHECK(store.segments(0).empty());
  store.freeze_to(1, false);
  CHECK(trained() == "conv2.weight conv2.bias fc.weight fc.bias ");
  store.freeze(false);
  CHECK(trained() == "fc.weight fc.bias ");
  store.unfreeze();
  CHECK(store.trainable_count() == store.parameter_count());
  CHECK(get(state, 0) == 3);
  store.fix("conv2.weight");
  store.fix("conv.bn.weight");
  CHECK(!store.slot(store.find("conv2.weight")).trainable);
  store.freeze(true);
  store.unfreeze();
  CHECK(trained() == "conv.weight conv.bn.bias conv2.bias fc.weight fc.bias ");
  CHECK_THROWS_WITH_AS(store.fix("conv3"), doctest::Contains("'conv3'"), UsageError);
  CHECK_THROWS_WITH_AS(store.freeze_to(3), doctest::Contains("3 layer groups"), UsageError);
  CHECK_THROWS_AS(store.freeze_to(-4), UsageError);
}

TEST_CASE("inits depend on seed and name only") {
  Context ctx(poisoned());
  ParamStore small, large;
  small.declare("fc.weight", {2, 5}, ParamRole::weight, random_init);
  small.materialize(ctx);
  declare_net(large);
  large.materialize(ctx);
  const std::int64_t i = large.find("fc.weight");
  CHECK(same_bits(small.master(0), large.master(i)));
  CHECK_FALSE(get(large.master(0), 0) == get(large.master(i), 0));
  Context other({.threads = 1, .seed = 43});
  ParamStore reseeded;
  declare_net(reseeded);
  reseeded.materialize(other);
  CHECK_FALSE(same_bits(reseeded.master(i), large.master(i)));
}

TEST_CASE("parameters that will be loaded get memory and no drawn values") {
  Context ctx(poisoned());
  ParamStore store;
  declare_net(store);
  store.declare("more", {3}, ParamRole::weight, [](Tensor&, std::uint64_t, std::uint64_t) {
    FAIL("it was drawn");
  });
  store.materialize(ctx, DType::f32, nn::InitialValues::none);
  for (const float value : store.flat_master().span<float>()) CHECK(value == 0);
  CHECK(get(store.buffer(1).value, 2) == 1);
}

TEST_CASE("buffers are in one vector, next to the copy to restore") {
  Context ctx(poisoned());
  ParamStore store;
  declare_net(store);
  store.materialize(ctx);
  REQUIRE(store.buffer_count() == 2);
  CHECK(get(store.buffer(0).value, 2) == 0);
  CHECK(get(store.buffer(1).value, 2) == 1);
  CHECK(same_bits(store.flat_buffers(), store.flat_committed_buffers()));
  set(store.buffer(1).value, 0, 7);
  CHECK_FALSE(same_bits(store.flat_buffers(), store.flat_committed_buffers()));
  store.commit_buffers();
  CHECK(same_bits(store.flat_buffers(), store.flat_committed_buffers()));
}

TEST_CASE("state saved in one layout and precision loads into another") {
  Context ctx(poisoned());
  ParamStore saved;
  declare_net(saved);
  saved.materialize(ctx);
  saved.set_layer_groups({"conv2"});
  for (std::int64_t i = 0; i < saved.size(); ++i)
    set(saved.state("momentum"), saved.offset(i), static_cast<double>(i));
  set(saved.buffer(0).value, 1, 0.125);
  const test::MemoryState memory = test::save(ctx, saved);
  CHECK(memory.tensors.size() == 7 + 2 + 7);
  CHECK(memory.tensors.at("params.conv.weight").shape() == Shape({3, 3, 3, 1}));

  Context other({.threads = 1, .seed = 7});
  ParamStore loaded;
  declare_net(loaded);
  loaded.materialize(other);
  loaded.set_working_dtype(DType::f16);
  static_cast<void>(loaded.state("momentum"));
  test::load(other, memory, loaded);
  CHECK(values_by_name(loaded, loaded.flat_master()) == values_by_name(saved, saved.flat_master()));
  CHECK(values_by_name(loaded, loaded.state("momentum")) ==
        values_by_name(saved, saved.state("momentum")));
  CHECK(get(loaded.flat_committed_buffers(), 1) == 0.125);
  const double master = get(loaded.master(0), 0);
  CHECK(get(loaded.slot(0).value, 0) ==
        static_cast<double>(to_float(to_half(static_cast<float>(master)))));
}

TEST_CASE("misuse of a store is refused with advice") {
  Context ctx(poisoned());
  ParamStore store;
  CHECK_THROWS_WITH_AS((void)store.context(), doctest::Contains("materialize"), Error);
  store.declare("w", {2}, ParamRole::weight, random_init);
  CHECK_THROWS_WITH_AS(store.declare("w", {2}, ParamRole::weight, random_init),
                       doctest::Contains("'w' is declared twice"),
                       Error);
  CHECK_THROWS_AS(store.declare_buffer("w", {2}, 0), Error);
  CHECK_THROWS_AS(store.declare("none", {0, 3}, ParamRole::weight, random_init), ShapeError);
  CHECK_THROWS_WITH_AS(store.declare("bare", {1}, ParamRole::weight, nullptr),
                       doctest::Contains("parameter 'bare' was declared without an init"),
                       Error);
  CHECK_THROWS_WITH_AS(store.declare_buffer("flat", {0}, 0),
                       doctest::Contains("buffer 'flat' has no elements: its shape is (0)"),
                       ShapeError);
  CHECK_THROWS_WITH_AS(
      (void)store.master(0), doctest::Contains("parameter 'w' has no buffer of this kind"), Error);
  test::MemoryState nothing;
  test::MemorySaver saver(nothing);
  CHECK_THROWS_WITH_AS(
      store.visit_state(saver), doctest::Contains("the parameters have no memory yet"), Error);
  CHECK_THROWS_WITH_AS(store.materialize(ctx, DType::bf16),
                       doctest::Contains("masters must be f32 (f64 for gradient checks), not bf16"),
                       DTypeError);
  store.materialize(ctx, DType::f64);
  CHECK(store.slot(0).value.dtype() == DType::f64);
  CHECK_THROWS_AS(store.set_working_dtype(DType::f16), DTypeError);
  CHECK_THROWS_AS(store.materialize(ctx), Error);
  CHECK_THROWS_WITH_AS(store.declare("late", {2}, ParamRole::weight, random_init),
                       doctest::Contains("whole model"),
                       Error);
  CHECK_THROWS_WITH_AS(store.declare_buffer("late", {2}, 0),
                       doctest::Contains("buffer 'late' was declared after"),
                       Error);
}
