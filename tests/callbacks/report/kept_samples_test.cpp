#include "callbacks/report/kept_samples.h"

#include "framework/tensor/factory.h"
#include "tests/learner/tiny_training.h"

#include <doctest/doctest.h>

using namespace tiny;
using namespace learn::callbacks;
using Places = std::vector<std::int64_t>;

namespace {

/// A batch of `rows` samples whose values are `from`, `from` + 1, ...
BatchRun batch_of(Learner& learn, std::int64_t from, std::int64_t rows, DType dtype = DType::f32) {
  Arena& arena = learn.context().persistent();
  BatchRun batch;
  batch.x = Tensor(arena, {rows, 2}, dtype);
  batch.y = Tensor(arena, {rows}, DType::i64);
  Tensor pred = Tensor(arena, {rows, 1}, dtype);
  for (std::int64_t i = 0; i < rows; ++i) {
    set(batch.x, 2 * i, static_cast<double>(from + i));
    set(batch.x, 2 * i + 1, static_cast<double>(-from - i));
    batch.y.span<std::int64_t>()[static_cast<std::size_t>(i)] = from + i;
    set(pred, i, static_cast<double>(10 * (from + i)));
  }
  batch.pred = learn.tape().input(pred);
  return batch;
}

}  // namespace

TEST_CASE("places are the first ones, or spread over a pass, and never more than it has") {
  CHECK(first_places(3, 10) == Places{0, 1, 2});
  CHECK(first_places(3, 2) == Places{0, 1});
  CHECK(spread_places(4, 10) == Places{0, 2, 5, 7});
  CHECK(spread_places(4, 2) == Places{0, 1});
  CHECK(spread_places(0, 2).empty());
}

TEST_CASE("samples are kept from several batches, whatever becomes of the batches' memory") {
  Training t;
  KeptSamples kept;
  kept.begin({1, 4, 5});
  CHECK(kept.size() == 0);
  for (std::int64_t first = 0; first < 9; first += 3) {
    BatchRun batch = batch_of(t.learn, first, 3, DType::f16);
    kept.add(t.ctx, batch);
    for (std::int64_t i = 0; i < batch.x.elements(); ++i) set(batch.x, i, 99);
    CHECK(kept.complete() == (first >= 3));
  }
  CHECK(values(kept.samples().x) == std::vector<double>{1, -1, 4, -4, 5, -5});
  CHECK(kept.samples().x.dtype() == DType::f16);
  CHECK(values(kept.outputs(t.ctx)) == std::vector<double>{10, 40, 50});
  CHECK(kept.outputs(t.ctx).dtype() == DType::f32);
  CHECK(kept.samples().y.span<std::int64_t>()[2] == 5);
  kept.begin({0});
  CHECK(kept.size() == 0);
  BatchRun soft = batch_of(t.learn, 7, 1);
  soft.y = Tensor(t.ctx.persistent(), {1, 3}, DType::f32);
  soft.padding = 1;
  kept.add(t.ctx, soft);
  CHECK(values(kept.samples().x) == std::vector<double>{7, -7});
  CHECK_FALSE(kept.samples().y.defined());
  CHECK(kept.samples().padding == 1);
}

TEST_CASE("a target for each output is kept as it is") {
  Training t;
  KeptSamples kept;
  kept.begin({0, 2});
  for (std::int64_t first = 0; first < 4; first += 2) {
    BatchRun batch = batch_of(t.learn, first, 2);
    batch.y = Tensor(t.ctx.persistent(), {2, 1}, DType::f32);
    for (std::int64_t i = 0; i < 2; ++i) set(batch.y, i, 0.5 + static_cast<double>(first + i));
    kept.add(t.ctx, batch);
  }
  CHECK(kept.samples().y.shape() == Shape{2, 1});
  CHECK(values(kept.samples().y) == std::vector<double>{0.5, 2.5});
}

TEST_CASE("batches of classes and of other targets in one pass are kept without targets") {
  Training t;
  for (const std::int64_t columns : {1, 3})  // of one output
    for (const bool mixed_first : {true, false}) {
      KeptSamples kept;
      kept.begin({0, 1});
      for (const bool mixed : {mixed_first, !mixed_first}) {
        BatchRun batch = batch_of(t.learn, 4, 1);
        if (mixed) batch.y = Tensor(t.ctx.persistent(), {1, columns}, DType::f32);
        kept.add(t.ctx, batch);
      }
      CHECK(kept.size() == 2);
      CHECK_FALSE(kept.samples().y.defined());
    }
}

TEST_CASE("batches that ended early are left out, the others keep their places") {
  Training t;
  KeptSamples kept;
  kept.begin({0, 2, 3});
  BatchRun cut = batch_of(t.learn, 0, 2);
  cut.pred = {};
  kept.add(t.ctx, cut);
  kept.add(t.ctx, batch_of(t.learn, 2, 2));
  CHECK(kept.complete());
  CHECK(kept.size() == 2);
  CHECK(values(kept.outputs(t.ctx)) == std::vector<double>{20, 30});
}
