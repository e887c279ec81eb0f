// Parts of a store in halves and in f32.
#include "framework/kernels/cast/fill.h"
#include "framework/nn/param_store.h"
#include "framework/tensor/factory.h"
#include "tests/nn/store_net.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

using namespace learn;
using namespace store_net;

TEST_CASE(
    "a write to a half copy, which would be lost, is refused, and one to the master takes effect") {
  Context ctx(poisoned());
  ParamStore store;
  declare_net(store);
  store.materialize(ctx);
  const std::int64_t conv = store.find("conv.weight");
  const std::int64_t norm = store.find("conv.bn.weight");
  set(store.slot(conv).value, 0, 5);  // f32: the master itself
  CHECK(get(store.master(conv), 0) == 5);
  store.set_working_dtype(DType::f16);
  Tensor half = store.slot(conv).value;
  const char* const why = "write to its master (ParamStore::master) and call refresh_working";
  CHECK_THROWS_WITH_AS(set(half, 0, 6), doctest::Contains(why), Error);
  CHECK_THROWS_WITH_AS(kernels::fill(ctx, half, 6), doctest::Contains(why), Error);
  Tensor part = half.range(0, 4);
  CHECK_THROWS_AS((void)part.span<Half>(), Error);
  CHECK_THROWS_AS((void)half.rows(0, 1).raw(), Error);
  CHECK(get(half, 0) == 5);
  Tensor master = store.master(conv);
  set(master, 0, 7);
  store.refresh_working();
  CHECK(get(half, 0) == 7);
  set(store.slot(norm).value, 0, 8);
  CHECK(get(store.master(norm), 0) == 8);
}

TEST_CASE("modules that are kept in f32 stay so in a half model and their values move along") {
  Context ctx(poisoned());
  ParamStore store;
  declare_net(store);
  store.materialize(ctx);
  const auto before = values_by_name(store, store.flat_master());
  store.set_working_dtype(DType::f16);
  const auto halves = [&] {
    std::set<std::string> names;
    for (std::int64_t i = 0; i < store.size(); ++i) {
      const ParamSlot& slot = store.slot(i);
      if (is_half(slot.value.dtype())) {
        names.insert(slot.name);
        CHECK(slot.grad.dtype() == DType::f16);
        CHECK(get(slot.value, 0) ==
              static_cast<double>(to_float(to_half(static_cast<float>(get(store.master(i), 0))))));
      } else {
        CHECK(slot.value.same_memory(store.master(i)));
      }
    }
    CHECK(values_by_name(store, store.flat_master()) == before);
    CHECK(gap_content(store, store.flat_master()) == 0);
    return names;
  };
  using Names = std::set<std::string>;
  const Names all = halves();
  CHECK(all == Names{"conv.weight", "conv2.weight", "conv2.bias", "fc.weight", "fc.bias"});
  store.keep_f32({"conv"});  // and not conv2, whose name has the same start
  CHECK(halves() == Names{"conv2.weight", "conv2.bias", "fc.weight", "fc.bias"});
  CHECK(store.offset(store.find("conv.weight")) > store.offset(store.find("fc.weight")));
  store.keep_f32({"fc", "conv2"});
  CHECK(halves() == Names{"conv.weight"});
  store.keep_f32({""});
  CHECK(halves().empty());
  store.keep_f32({});
  CHECK(halves() == all);
  CHECK_THROWS_WITH_AS(
      store.keep_f32({"conv3"}),
      doctest::Contains("this model has no module with the path or type 'conv3'; did you mean"),
      UsageError);
  CHECK(halves() == all);
}

TEST_CASE("parameters move for modules in f32 only where that changes one of them") {
  Context ctx(poisoned());
  ParamStore store;
  declare_net(store);
  store.materialize(ctx);
  const std::size_t before = ctx.step().stats().peak;
  store.keep_f32({});
  CHECK(ctx.step().stats().peak == before);
  store.keep_f32({"conv", "conv2", "fc"});
  CHECK(ctx.step().stats().peak > before);
}

TEST_CASE("half parameters are rounded copies of their masters and norms stay f32") {
  for (const DType half : {DType::f16, DType::bf16}) {
    Context ctx(poisoned());
    ParamStore store;
    declare_net(store);
    store.materialize(ctx);
    store.set_working_dtype(half);
    for (std::int64_t i = 0; i < store.size(); ++i) {
      CAPTURE(store.info(i).name);
      const ParamSlot& slot = store.slot(i);
      if (nn::is_norm(store.info(i).role)) {
        CHECK(slot.value.same_memory(store.master(i)));
        CHECK(slot.grad.same_memory(store.master_grad(i)));
        continue;
      }
      CHECK(slot.value.dtype() == half);
      CHECK(slot.grad.dtype() == half);
      CHECK(slot.value.same_memory(store.flat_half().range(store.offset(i), 1)));
      CHECK(slot.grad.same_memory(store.flat_half_grad().range(store.offset(i), 1)));
      const auto master = store.master(i);
      for (std::int64_t k = 0; k < master.elements(); ++k) {
        Tensor rounded = full(ctx.step(), {1}, half, get(master, k));
        CHECK(get(slot.value, k) == get(rounded, 0));
      }
    }
    store.set_working_dtype(DType::f32);
    CHECK(store.slot(0).value.same_memory(store.master(0)));
    CHECK_FALSE(store.flat_half().defined());
  }
}

TEST_CASE("without masters every flat buffer is of halves and what keeps f32 is widened") {
  Context ctx(poisoned());
  ParamStore store;
  declare_net(store);
  store.materialize(ctx);
  Tensor& momentum = store.state("momentum");
  Tensor& average = store.state("average", true);
  for (std::int64_t i = 0; i < store.size(); ++i) {
    set(momentum, store.offset(i), 1 + 0x1p-20);
    set(average, store.offset(i), 1 + 0x1p-20);
  }
  const auto masters = values_by_name(store, store.flat_master());
  store.set_working_dtype(DType::f16, nn::Masters::none);
  CHECK(store.master_dtype() == DType::f16);
  CHECK(store.flat_grad().dtype() == DType::f16);
  CHECK(momentum.dtype() == DType::f16);
  CHECK(average.dtype() == DType::f32);
  CHECK(store.state("new").dtype() == DType::f16);
  CHECK(get(average, store.offset(0)) == 1 + 0x1p-20);
  CHECK_FALSE(store.flat_half().defined());
  CHECK(store.flat_buffers().dtype() == DType::f32);
  const auto rounded = [](double v) {
    return static_cast<double>(to_float(to_half(static_cast<float>(v))));
  };
  const auto check_values = [&] {
    for (const auto& [name, values] : values_by_name(store, store.flat_master()))
      for (std::size_t k = 0; k < values.size(); ++k)
        CHECK(values[k] == rounded(masters.at(name)[k]));
    for (std::int64_t i = 0; i < store.size(); ++i) CHECK(get(momentum, store.offset(i)) == 1);
  };
  check_values();
  store.set_layer_groups({"conv2", "fc"});
  store.keep_f32({"fc"});
  check_values();
  for (std::int64_t i = 0; i < store.size(); ++i) {
    CAPTURE(store.info(i).name);
    CHECK(store.slot(i).value.same_memory(store.master(i)));
    CHECK(store.slot(i).grad.same_memory(store.master_grad(i)));
    CHECK(store.slot(i).widened == store.info(i).keeps_f32);
    CHECK(store.info(i).keeps_f32 == (is_norm(store.info(i).role) || store.info(i).name[0] == 'f'));
  }
  for (int group = 0; group < store.groups(); ++group) {
    CHECK(store.half_segments(group).empty());
    CHECK(total(store.full_segments(group)) == total(store.segments(group)));
  }
  CHECK(gap_content(store, store.flat_master()) == 0);
  // With masters again: what was rounded away stays so.
  store.set_working_dtype(DType::f16);
  CHECK(store.master_dtype() == DType::f32);
  CHECK(momentum.dtype() == DType::f32);
  CHECK(store.flat_half().dtype() == DType::f16);
  check_values();
  for (std::int64_t i = 0; i < store.size(); ++i) {
    CHECK_FALSE(store.slot(i).widened);
    CHECK(is_half(store.slot(i).value.dtype()) != store.info(i).keeps_f32);
  }
}

TEST_CASE("a store without masters continues from the state that it is given") {
  Context ctx(poisoned());
  ParamStore saved;
  declare_net(saved);
  saved.materialize(ctx);
  const test::MemoryState state = test::save(ctx, saved);
  ParamStore store;
  declare_net(store);
  store.materialize(ctx);
  store.set_working_dtype(DType::f16, nn::Masters::none);
  Tensor values = store.flat_master();
  kernels::fill(ctx, values, 0);
  test::load(ctx, state, store);
  for (const auto& [name, expected] : values_by_name(saved, saved.flat_master())) {
    const std::vector<double> loaded = values_by_name(store, store.flat_master()).at(name);
    for (std::size_t k = 0; k < expected.size(); ++k)
      CHECK(loaded[k] == static_cast<double>(to_float(to_half(static_cast<float>(expected[k])))));
  }
}
