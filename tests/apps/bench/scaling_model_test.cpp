#include "apps/bench/scaling_model.h"

#include <doctest/doctest.h>

using namespace learn::bench;
using doctest::Approx;

TEST_CASE("a task starts on the core that is free first, in order") {
  CHECK(makespan({1, 1, 1, 1}, 1) == Approx(4));
  CHECK(makespan({1, 1, 1, 1}, 2) == Approx(2));
  CHECK(makespan({1, 1, 1, 1}, 3) == Approx(2));
  CHECK(makespan({1, 1, 1, 1}, 64) == Approx(1));
  // The long task starts last, although it should have been the first.
  CHECK(makespan({1, 1, 1, 1, 4}, 2) == Approx(6));
  CHECK(makespan({4, 1, 1, 1, 1}, 2) == Approx(4));
  CHECK(makespan({}, 2) == 0);
}

TEST_CASE("the time of an operation on several cores, and where it goes") {
  const Machine machine{
      .hand_over = 2, .per_thread = 0.5, .core_bandwidth = 10, .total_bandwidth = 25};
  MeasuredOperation operation{.serial = 1e-3, .loops = {{3e-3, 1e-3, 1e-3}, {5e-4}}};

  PredictedTime time = predicted(operation, 1, machine);
  CHECK(time.sum() == Approx(6.5e-3));
  CHECK(time.work == Approx(5e-3));
  CHECK(time.serial == Approx(1.5e-3));  // with the loop of one task

  time = predicted(operation, 2, machine);
  CHECK(time.work == Approx(2.5e-3));
  CHECK(time.imbalance == Approx(0.5e-3));
  CHECK(time.hand_over == Approx(3e-6));
  CHECK(time.serial == Approx(1.5e-3));
  CHECK(time.memory == 0);

  operation.bytes = 1e9 * 20 * 5e-3;  // 5 ms for two cores, 4 ms for three and more
  CHECK(predicted(operation, 2, machine).sum() == Approx(5e-3));
  CHECK(predicted(operation, 3, machine).memory == 0);
  operation.loops = {};
  CHECK(predicted(operation, 3, machine).sum() == Approx(4e-3));
  CHECK(predicted(operation, 64, machine).sum() == Approx(4e-3));
  // One core's time was measured with its waits for memory.
  CHECK(predicted(operation, 1, machine).sum() == Approx(1e-3));
}
