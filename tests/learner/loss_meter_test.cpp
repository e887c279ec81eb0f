#include "framework/learner/loss_meter.h"

#include "framework/autograd/tape.h"
#include "framework/learner/find/memory_state.h"
#include "framework/learner/loop_state.h"
#include "framework/tensor/factory.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using namespace learn;

namespace {

/// The run of two rows of a batch of `whole` samples; 0: they are the batch.
BatchRun run_of(Tape& tape, std::int64_t whole, double loss) {
  Arena& memory = tape.context().step();
  BatchRun run;
  run.x = zeros(memory, {2, 3});
  run.whole = whole;
  run.loss = tape.input(full(memory, {}, DType::f32, loss));
  return run;
}

constexpr std::int64_t kMany = 1000;  // more than are kept until they are read

/// A pass of many batches, of which some have infinite losses, weights, or weights of 0.
class LongPass {
 public:
  explicit LongPass(std::int64_t infinite) : infinite_(infinite) {}

  void add(LossMeter& meter, std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) {
      BatchRun run = run_of(tape_, samples(i), loss(i));
      if (weight(i) >= 0) run.weight = full(ctx_.step(), {1}, DType::f32, weight(i));
      meter.add(ctx_, run);
      tape_.reset();
    }
  }
  /// The mean of all batches, or of those with a finite loss.
  [[nodiscard]] double mean(bool all) const {
    double sum = 0;
    double used = 0;
    for (std::int64_t i = 0; i < kMany; ++i) {
      const double w = weight(i) >= 0 ? weight(i) : static_cast<double>(samples(i));
      if (w == 0 || (!all && !std::isfinite(loss(i)))) continue;
      sum += loss(i) * w;
      used += w;
    }
    return sum / used;
  }
  [[nodiscard]] std::int64_t all_samples() const {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < kMany; ++i) sum += samples(i);
    return sum;
  }
  [[nodiscard]] Context& context() { return ctx_; }

 private:
  [[nodiscard]] static std::int64_t samples(std::int64_t i) { return 1 + i % 37; }
  [[nodiscard]] double loss(std::int64_t i) const {
    if (i % 100 == 50 && i / 100 < infinite_) return std::numeric_limits<double>::infinity();
    return static_cast<double>(1 / static_cast<float>(3 + i));
  }
  [[nodiscard]] static double weight(std::int64_t i) {
    return i < 300 ? -1 : static_cast<double>(static_cast<float>(i % 11) / 3);
  }

  std::int64_t infinite_;
  Context ctx_{{.threads = 1}};
  Tape tape_{ctx_};
};

}  // namespace

TEST_CASE("loss meter: losses are weighted by the samples of all shares of a batch") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  LossMeter meter;
  meter.begin(3);
  meter.add(ctx, run_of(tape, 30, 1));
  meter.add(ctx, run_of(tape, 8, 2));
  meter.add(ctx, run_of(tape, 0, 4));
  CHECK(meter.samples() == 40);
  CHECK(meter.mean(ctx) == (30 * 1 + 8 * 2 + 2 * 4) / 40.0);
}

TEST_CASE("loss meter: a batch whose loss has no weight counts the samples of all shares") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  LossMeter meter;
  meter.begin(3);
  meter.add(ctx, run_of(tape, 30, 1));
  BatchRun weighted = run_of(tape, 30, 2);
  weighted.weight = full(ctx.step(), {1}, DType::f32, 8);
  meter.add(ctx, weighted);
  meter.add(ctx, run_of(tape, 10, 4));
  CHECK(meter.samples() == 70);
  CHECK(meter.mean(ctx) == (30 * 1 + 8 * 2 + 10 * 4) / 48.0);
}

TEST_CASE("loss meter: the mean of a long pass has the bits of one sum over its batches") {
  LongPass pass(3);
  LossMeter meter;
  meter.begin(kMany);
  pass.add(meter, 0, kMany);
  CHECK(meter.samples() == pass.all_samples());
  CHECK(meter.mean(pass.context(), 3) == pass.mean(false));
  CHECK(meter.mean(pass.context(), 2) == pass.mean(true));
  meter.begin(kMany);
  CHECK(meter.samples() == 0);
  CHECK(std::isnan(meter.mean(pass.context())));
}

TEST_CASE("loss meter: a pass takes no memory per batch, nor does its state") {
  LongPass pass(0);
  LossMeter meter;
  meter.begin(std::int64_t{1} << 40);
  pass.add(meter, 0, kMany);
  CHECK(pass.context().persistent().stats().peak < sizeof(float) * kMany);
  MemoryState state;
  MemorySaver saver(state);
  meter.visit_state(pass.context(), kMany, kMany, saver);
  CHECK(state.tensors.empty());
}

TEST_CASE("loss meter: a pass that continues from its state has the bits of a whole one") {
  for (const std::int64_t cut : {0, 7, 256, 700}) {
    CAPTURE(cut);
    LongPass pass(2);
    LossMeter first;
    first.begin(kMany);
    pass.add(first, 0, cut);
    MemoryState state;
    MemorySaver saver(state);
    first.visit_state(pass.context(), cut, kMany, saver);
    LossMeter second;
    MemoryLoader loader(state);
    second.visit_state(pass.context(), cut, kMany, loader);
    for (LossMeter* const meter : {&first, &second}) {
      pass.add(*meter, cut, kMany);
      CHECK(meter->samples() == pass.all_samples());
      CHECK(meter->mean(pass.context(), 2) == pass.mean(false));
      CHECK(meter->mean(pass.context()) == pass.mean(true));
    }
  }
}

TEST_CASE("loss meter: a state cannot have more batches than its pass has made") {
  LongPass pass(0);
  LossMeter meter;
  meter.begin(kMany);
  pass.add(meter, 0, 9);
  MemoryState state;
  MemorySaver saver(state);
  meter.visit_state(pass.context(), 9, kMany, saver);
  MemoryLoader loader(state);
  CHECK_THROWS_AS(meter.visit_state(pass.context(), 8, kMany, loader), CheckpointError);
}
