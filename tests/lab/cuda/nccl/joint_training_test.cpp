// Trainings whose gradients go through NCCL, also with one rank, which learn itself trains without.
#include "callbacks/cuda_graph.h"
#include "framework/core/fnv1a.h"
#include "framework/learner/exchange.h"
#include "tests/callbacks/bars_cases.h"
#include "tests/lab/cuda/nccl/world.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace {

using namespace bars;
using learn::testing::gpu;
using learn::testing::world;

/// Joins the ranks of the test program, as DataParallel joins several.
class Joined final : public Callback {
 public:
  explicit Joined(const ExchangeOptions& options) : exchange_(world(), options) {}
  [[nodiscard]] std::string_view name() const override { return "joined"; }
  [[nodiscard]] int order() const override { return order::kDataParallel; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] Exchange* exchange() override { return &exchange_; }

 private:
  Exchange exchange_;
};

constexpr ExchangeOptions kSmallBuckets{.bucket_bytes = 1024};

Trained train_jointly(const Case& c, bool captured, const ExchangeOptions& options) {
  const callbacks::CudaGraph* graph = nullptr;
  Case with_checks = c;
  with_checks.callbacks = [&](Learner& l) {
    c.callbacks(l);
    if (!captured) return;
    graph = &l.add<callbacks::CudaGraph>();
    callbacks::on(l, Event::train_end, [&](Learner&) { CHECK(graph->counts().replayed > 0); });
  };
  return train(with_checks, gpu(), [&](Learner& learn) { learn.add<Joined>(options); });
}

/// Whether all ranks have the same bits.
bool same_on_all(const Trained& mine) {
  std::uint64_t hash = 0;
  const auto add = [&](const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    hash = fnv1a_words(
        std::array{hash, fnv1a({reinterpret_cast<const char*>(bytes.data()), bytes.size()})});
  };
  add(mine.losses);
  add(mine.results);
  add(mine.weights);
  add(mine.statistics);
  const auto all = gather_from_all(world(), hash);
  return std::ranges::all_of(all, [&](std::uint64_t other) { return other == hash; });
}

/// Eager and captured, and compared by rank 0 with a training of one process.
void check_joint_training(const Case& c, const ExchangeOptions& options = kSmallBuckets) {
  INFO("seed ", kSeed);
  CAPTURE(c.name);
  CAPTURE(world().place().ranks);
  const Trained eager = train_jointly(c, false, options);
  CHECK(same_on_all(eager));
  if (c.capturable) CHECK(train_jointly(c, true, options) == eager);
  if (world().place().rank != 0) return;
  const Trained alone = train(c, gpu(), [](Learner&) {});
  REQUIRE(alone.losses.size() >= 20);
  CHECK(alone.losses.back() < alone.losses.front());
  check_same_training(eager, alone, c.tolerance);
  // A loss that is weighed and divided is rounded, and BatchNorm of ranks adds in another order,
  // even if there is only one.
  if (world().place().ranks == 1 && !c.parts.batch_norm && options.wire == Wire::f32)
    CHECK(same(eager.weights, alone.weights));
}

}  // namespace

TEST_CASE("ranks on GPUs train as one process does in eager and captured steps") {
  for (const Case& c : cases()) check_joint_training(c);
}

TEST_CASE("ranks on GPUs train as one process does with synchronized BatchNorm") {
  for (const std::int64_t samples : {44, 37})
    check_joint_training({.name = "sync_bn",
                          .parts = {.batch_norm = true, .dropout = 0.3},
                          .samples = samples,
                          .tolerance = 1e-4},  // as on the CPU
                         {.bucket_bytes = 1024, .sync_bn = true});
}

TEST_CASE("ranks on GPUs have the same running statistics if each normalizes its share") {
  const Case c{.name = "own statistics", .parts = {.batch_norm = true}};
  const Trained eager = train_jointly(c, false, kSmallBuckets);
  CHECK(same_on_all(eager));
  CHECK(train_jointly(c, true, kSmallBuckets) == eager);
}

TEST_CASE("ranks on GPUs train as one process does with sums in halves") {
  constexpr ExchangeOptions kHalfWire{.bucket_bytes = 1024, .wire = Wire::half};
  check_joint_training({.name = "fp32 as bf16", .tolerance = 8e-2}, kHalfWire);  // as on the CPU
  for (const Case& c : cases())
    if (c.name == "fp16") check_joint_training(c, kHalfWire);
}

TEST_CASE("50 steps of ranks on GPUs follow one process") {
  const Case c{.name = "50 steps", .samples = 96, .epochs = 7, .tolerance = 2e-5};
  check_joint_training(c);
}
