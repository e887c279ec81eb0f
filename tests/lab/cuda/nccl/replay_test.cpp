// Captured steps of several ranks, while an option changes on one of them only.
#include "callbacks/cuda_graph.h"
#include "callbacks/data_parallel.h"
#include "framework/core/fnv1a.h"
#include "framework/kernels/cast/fill.h"
#include "framework/learner/learner.h"
#include "tests/lab/cuda/nccl/world.h"
#include "tests/lab/cuda/short_training.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace learn {
namespace {

using testing::gpu;
using testing::host;

constexpr std::int64_t kEpochs = 5;
constexpr std::int64_t kBatches = 3;  // of an epoch; the last is short
constexpr std::int64_t kChange = 2 * kBatches;

bool is_last() { return host().place().rank == host().place().ranks - 1; }

/// Has an option that changes on the last rank only, when steps are captured already.
class Changing final : public Callback {
 public:
  using Use = std::function<void(Learner&, bool changed)>;
  Changing(Use at_batch, Use at_backward_begin, Use at_backward_end)
      : uses_{std::move(at_batch), std::move(at_backward_begin), std::move(at_backward_end)} {}
  [[nodiscard]] std::string_view name() const override { return "changing"; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<double> captured_options() const override {
    return {changed_ ? 1.0 : 0.0};
  }
  void batch_begin(Learner& learn) override {
    changed_ = is_last() && learn.progress().training && learn.progress().batch_clock >= kChange;
    uses_[0](learn, changed_);
  }
  void backward_begin(Learner& learn) override { uses_[1](learn, changed_); }
  void backward_end(Learner& learn) override { uses_[2](learn, changed_); }

 private:
  Use uses_[3];
  bool changed_ = false;
};

void nothing(Learner&, bool) {}

/// Sets the gradient of the rank's loss.
void halve_seed(Learner& learn, bool changed) {
  Tensor seed = learn.context().empty({1}, DType::f32);
  kernels::fill(learn.context(), seed, changed ? 0.5 : 1);
  learn.set_seed(seed);
}

void accept_seed(Learner& learn, bool) { learn.grads_unscaled(); }

void forget_gradients(Learner& learn, bool changed) {
  if (!changed) return;
  Tensor all = learn.params().flat_grad();
  kernels::fill(learn.context(), all, 0);
}

void freeze(Learner& learn, bool changed) {
  if (changed) learn.params().freeze_to(1, true);
}

struct Trained {
  std::uint64_t weights = 0;
  GraphStepCounts counts{};
};

Trained train(bool graph,
              Changing::Use batch,
              Changing::Use begin,
              Changing::Use end,
              std::int64_t samples = 8) {
  test::ShortRun run({.device = gpu().device(), .threads = 1},
                     {.model = "mlp:width=8", .batch = samples, .steps = kBatches},
                     [&](Learner& learn) {
                       learn.split({"layers.5"});
                       learn.add<callbacks::DataParallel>(host());
                       learn.add<Changing>(batch, begin, end);
                       if (graph) learn.add<callbacks::CudaGraph>();
                     });
  run.fit(kEpochs);
  Trained out;
  const Tensor weights = run.values().front();
  out.weights = fnv1a({reinterpret_cast<const char*>(weights.raw()), weights.bytes()});
  if (graph) out.counts = run.learn.find<callbacks::CudaGraph>()->counts();
  return out;
}

}  // namespace

TEST_CASE("an option that changes on one rank makes it capture again and keeps all bits equal") {
  const Trained eager = train(false, nothing, halve_seed, accept_seed);
  const Trained graph = train(true, nothing, halve_seed, accept_seed);
  CHECK(graph.weights == eager.weights);
  for (const std::uint64_t other : gather_from_all(host(), graph.weights))
    CHECK(other == graph.weights);
  CHECK(graph.counts.captured == (is_last() ? 3 : 2));
  CHECK(graph.counts.replayed > 0);
  CHECK(graph.weights != train(true, nothing, nothing, nothing).weights);
}

TEST_CASE("a capture that fails on one rank makes it run eagerly and keeps all bits equal") {
  const auto read = [](Learner& learn, bool changed) {
    if (changed) (void)to_host(learn.context(), learn.batch().loss.value());
  };
  const Trained eager = train(false, nothing, nothing, read);
  const Trained graph = train(true, nothing, nothing, read);
  CHECK(graph.weights == eager.weights);
  for (const std::uint64_t other : gather_from_all(host(), graph.weights))
    CHECK(other == graph.weights);
  CHECK((graph.counts.replayed > kBatches) == !is_last());
}

TEST_CASE("a step is not replayed for a share of the same size of another batch") {
  // The first of two ranks has one sample of 3, and one of the last 2.
  const Trained eager = train(false, nothing, nothing, nothing, 3);
  const Trained graph = train(true, nothing, nothing, nothing, 3);
  CHECK(graph.weights == eager.weights);
  CHECK(graph.counts.captured == (is_last() ? 3 : 2));  // its option changes
}

TEST_CASE("layers that are frozen on one rank are an error that names it on all ranks") {
  if (host().place().ranks == 1) return;
  for (const bool graph : {false, true})
    CHECK_THROWS_WITH_AS(train(graph, freeze, nothing, nothing),
                         doctest::Contains("train other parameters"),
                         RanksError);
}

TEST_CASE("an option that changes the update of one rank is an error after the epoch") {
  if (host().place().ranks == 1) return;
  for (const bool graph : {false, true})
    CHECK_THROWS_WITH_AS(
        train(graph, nothing, nothing, forget_gradients),
        doctest::Contains("differ after epoch 3: something changes them on one rank only"),
        RanksError);
}

}  // namespace learn
