#include "framework/learner/loss_meter.h"

#include "framework/autograd/tape.h"
#include "framework/learner/loop_state.h"
#include "framework/tensor/factory.h"

#include <doctest/doctest.h>

#include <cstdint>

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

}  // namespace

TEST_CASE("loss meter: losses are weighted by the samples of all shares of a batch") {
  Context ctx({.threads = 1});
  Tape tape(ctx);
  LossMeter meter;
  meter.begin(ctx, 3);
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
  meter.begin(ctx, 3);
  meter.add(ctx, run_of(tape, 30, 1));
  BatchRun weighted = run_of(tape, 30, 2);
  weighted.weight = full(ctx.step(), {1}, DType::f32, 8);
  meter.add(ctx, weighted);
  meter.add(ctx, run_of(tape, 10, 4));
  CHECK(meter.samples() == 70);
  CHECK(meter.mean(ctx) == (30 * 1 + 8 * 2 + 10 * 4) / 48.0);
}
