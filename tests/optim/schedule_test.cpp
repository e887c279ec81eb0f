#include "framework/optim/schedule.h"

#include "framework/core/error.h"
#include "framework/optim/optimizer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

using namespace learn;
using namespace learn::optim::schedules;
using doctest::Approx;

TEST_CASE("plain schedules start and end at their values") {
  for (const auto& s : {linear(3, 1),
                        cosine(3, 1),
                        exponential(3, 1),
                        polynomial(3, 1, 2),
                        polynomial(3, 1, 0.5)}) {
    CHECK(s(0) == Approx(3));
    CHECK(s(1) == Approx(1));
  }
  CHECK(constant(2)(0.3) == 2);
  CHECK(linear(3, 1)(0.25) == Approx(2.5));
  CHECK(cosine(3, 1)(0.5) == Approx(2));
  CHECK(exponential(4, 1)(0.5) == Approx(2));
  CHECK(polynomial(3, 1, 2)(0.5) == Approx(1.5));
}

TEST_CASE("combined schedules rescale their parts and skip empty ones") {
  const auto s = combine({0.25, 0, 0.75}, {linear(0, 1), constant(99), linear(1, 4)});
  CHECK(s(0) == 0);
  CHECK(s(0.125) == Approx(0.5));
  CHECK(s(0.25) == Approx(1));
  CHECK(s(0.5) == Approx(2));
  CHECK(s(1) == Approx(4));
  CHECK(combine({1, 0}, {linear(0, 1), constant(9)})(1) == 1);
  CHECK(combine({0, 1}, {constant(9), linear(0, 1)})(0) == 0);
}

TEST_CASE("schedules refuse impossible values") {
  CHECK_THROWS_AS((void)exponential(0, 1), UsageError);
  CHECK_THROWS_AS((void)polynomial(1, 0, 0), UsageError);
  CHECK_THROWS_WITH_AS(
      (void)combine({0.5}, {constant(1), constant(2)}), doctest::Contains("1 shares"), UsageError);
  CHECK_THROWS_WITH_AS(
      (void)combine({0.5, 0.6}, {constant(1), constant(2)}), doctest::Contains("1.1"), UsageError);
  CHECK_THROWS_WITH_AS(
      (void)combine({0.5, 0.4}, {constant(1), constant(2)}), doctest::Contains("0.9"), UsageError);
  CHECK_THROWS_AS((void)combine({-0.5, 1.5}, {constant(1), constant(2)}), UsageError);
  CHECK_THROWS_AS((void)piecewise({0.5}, {1}), UsageError);
  CHECK_THROWS_AS((void)piecewise({0.6, 0.5}, {1, 2, 3}), UsageError);
  CHECK_THROWS_AS((void)piecewise({1.5}, {1, 2}), UsageError);
  CHECK_THROWS_AS((void)one_cycle(0.1, {.pct_start = 1.5}), UsageError);
  CHECK_THROWS_AS((void)one_cycle(0.1, {.div = 0}), UsageError);
  CHECK_THROWS_AS((void)flat_cosine(0.1, 0.7, 0), UsageError);
  CHECK_THROWS_AS((void)sgdr_epochs({.cycles = 0}), UsageError);
  CHECK_THROWS_AS((void)kOneCycleV1.snapped(0), UsageError);
}

TEST_CASE("one-cycle of ten steps has fastai 1's factors") {
  // Read off fastai 1.0.61 for lr_max 1 and ten batches.
  const std::vector<double> factors{0.04, 0.28, 0.76, 1, 0.950, 0.812, 0.611, 0.389, 0.188, 0.0495};
  const auto lr = one_cycle(1, kOneCycleV1.snapped(10)).lr;
  for (std::size_t i = 0; i < factors.size(); ++i)
    CHECK(lr(static_cast<double>(i) / 10) == Approx(factors[i]).epsilon(1e-3));
}

TEST_CASE("warm restarts last as long as fastai's") {
  CHECK(sgdr_epochs({.cycles = 3, .cycle_len = 2, .cycle_mult = 2}) == 14);
  CHECK(sgdr_epochs({.cycles = 4, .cycle_len = 3, .cycle_mult = 1}) == 12);
  const auto equal = sgdr(1, 0, {.cycles = 4, .cycle_len = 3, .cycle_mult = 1});
  CHECK(equal(0.125) == Approx(0.5));
  CHECK(equal(0.25) == Approx(1));
  CHECK(equal(0.24999) == Approx(0).epsilon(1e-6));
}

TEST_CASE("warm restarts start on their batch, in every shape") {
  std::int64_t restarts = 0;
  for (std::int64_t cycles = 2; cycles <= 7; ++cycles)
    for (std::int64_t len = 1; len <= 5; ++len)
      for (std::int64_t mult = 1; mult <= 4; ++mult)
        for (const std::int64_t batches : {1, 2, 3, 7, 98, 391, 5005}) {
          const SgdrShape shape{.cycles = cycles, .cycle_len = len, .cycle_mult = mult};
          const auto lr = sgdr(0.3, 0, shape);
          const auto planned = static_cast<double>(sgdr_epochs(shape) * batches);
          std::int64_t begin = 0;
          std::int64_t length = len * batches;
          std::int64_t before = 1;  // length of the cycle before
          for (std::int64_t i = 0; i < cycles; ++i, ++restarts) {
            CAPTURE(cycles);
            CAPTURE(len);
            CAPTURE(mult);
            CAPTURE(batches);
            REQUIRE(lr(static_cast<double>(begin) / planned) == 0.3);
            if (before > 1) REQUIRE(lr(static_cast<double>(begin - 1) / planned) < 0.3);
            begin += length;
            before = length;
            length *= mult;
          }
        }
  CHECK(restarts == 3780);
  // For any schedules: a batch before the restart, of any number, is before it.
  const auto steps = combine({0.2, 0.2, 0.2, 0.2, 0.2},
                             {constant(0), constant(1), constant(2), constant(3), constant(4)});
  for (int i = 0; i < 5; ++i) CHECK(steps(i / 5.0) == i);
  CHECK(steps(0.6 - 1e-9) == 2);
}

TEST_CASE("a rise of whole steps loses none to rounding, and is never longer than its share") {
  for (std::int64_t steps = 1; steps <= 1000; ++steps)
    for (int percent = 0; percent <= 100; percent += 5) {
      OneCycleShape shape;
      shape.pct_start = percent / 100.0;
      const double rise = shape.snapped(steps).pct_start * static_cast<double>(steps);
      const std::int64_t whole = percent * steps / 100;
      REQUIRE(std::round(rise) == static_cast<double>(whole));
    }
}

TEST_CASE("warm-up rises to the schedule it precedes") {
  const auto s = warm_up(0.2, 0.1, cosine(5, 0));
  CHECK(s(0) == Approx(0.5));
  CHECK(s(0.1) == Approx(2.75));
  CHECK(s(0.2) == Approx(5));
  CHECK(s(0.6) == Approx(2.5));
  CHECK(s(1) == Approx(0));
  CHECK(warm_up(0, 0.1, constant(3))(0) == 3);
}

TEST_CASE("learning rates spread over layer groups") {
  using Rates = std::vector<float>;
  using optim::LearningRates;
  using optim::range;
  CHECK(LearningRates(0.1).spread(3) == Rates{0.1F, 0.1F, 0.1F});
  CHECK(LearningRates{0.1, 0.2, 0.3}.spread(3) == Rates{0.1F, 0.2F, 0.3F});
  const Rates spread = range(1e-4, 1e-2).spread(3);
  CHECK(spread[0] == 1e-4F);
  CHECK(spread[1] == Approx(1e-3).epsilon(1e-6));
  CHECK(spread[2] == 1e-2F);
  CHECK(range(1e-4, 1e-2).spread(1) == Rates{1e-2F});
  CHECK(range(1e-4, 1e-2).spread(2) == Rates{1e-4F, 1e-2F});
  CHECK(optim::last_group(1).spread(3) == Rates{0.1F, 0.1F, 1});
  CHECK(optim::last_group(1).spread(1) == Rates{1});
  const auto list_of_two = LearningRates{1e-4, 1e-2};  // not a range, whatever its length
  CHECK_THROWS_WITH_AS(
      (void)list_of_two.spread(3), doctest::Contains("3 layer groups"), UsageError);
  CHECK_THROWS_AS((void)LearningRates(std::vector<double>{}).spread(2), UsageError);
  CHECK_THROWS_AS((void)range(0, 1).spread(3), UsageError);
  CHECK_THROWS_AS((void)LearningRates(-1).spread(3), UsageError);
  CHECK_THROWS_WITH_AS((void)LearningRates(1).spread(0),
                       doctest::Contains("a model must have at least one layer group, not 0"),
                       UsageError);
}
