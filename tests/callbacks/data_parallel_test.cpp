// Several ranks train as one process does. Ranks are threads.
#include "callbacks/gradient_accumulation.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/precision/native_mixed_precision.h"
#include "callbacks/precision/pure_half.h"
#include "tests/callbacks/bars_cases.h"
#include "tests/support/worse.h"

#include <array>
#include <cmath>

using namespace bars;

TEST_CASE("2, 3 and 4 ranks train as one process does") {
  INFO("seed ", kSeed);
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    const Trained alone = train(c, nullptr, {});
    REQUIRE(alone.losses.size() >= 20);
    // It learns, so there is something to be followed.
    CHECK(alone.losses.back() < alone.losses.front());
    for (const int ranks : {2, 3, 4}) {
      CAPTURE(ranks);
      check_same_training(train_in_ranks(c, ranks), alone, c.tolerance);
    }
  }
}

TEST_CASE("the first 20 and 50 steps follow one process") {
  // f32 sums in another order, which the training amplifies; Winograd's algorithm rounds ten times
  // as much as plain sums.
  for (const bool winograd : {false, true}) {
    CAPTURE(winograd);
    const Case c{.name = "50 steps", .samples = 96, .epochs = 7, .winograd = winograd};
    const Trained alone = train(c, nullptr, {});
    REQUIRE(alone.losses.size() >= 50);
    for (const int ranks : {2, 3, 4}) {
      CAPTURE(ranks);
      const Trained all = train_in_ranks(c, ranks);
      double worst = 0;
      for (std::size_t i = 0; i < 50; ++i) {
        worst = test::worse(worst, difference(all.losses[i], alone.losses[i]));
        if (i + 1 == 20) CHECK(worst < (winograd ? 2e-5 : 2e-6));
      }
      CHECK(worst < (winograd ? 2e-4 : 2e-5));
    }
  }
}

TEST_CASE("with synchronized BatchNorm a net trains as in one process, and on uneven shares") {
  for (const std::int64_t samples : {44, 37}) {
    CAPTURE(samples);
    // The running statistics are compared too.
    const Case c{
        .name = "sync_bn", .parts = {.batch_norm = true, .dropout = 0.3}, .samples = samples};
    const Trained alone = train(c, nullptr, {});
    for (const int ranks : {2, 3, 4}) {
      CAPTURE(ranks);
      const Trained all = train_in_ranks(c, ranks, {.sync_bn = true});
      check_same_training(all, alone, 1e-4);  // BatchNorm divides by deviations of 12 samples
      REQUIRE(all.statistics.size() == alone.statistics.size());
      for (std::size_t i = 0; i < all.statistics.size(); ++i)
        CHECK(std::abs(all.statistics[i] - alone.statistics[i]) <
              1e-4 * (1 + std::abs(alone.statistics[i])));
    }
  }
}

TEST_CASE("one rank trains with the bits of a process without ranks") {
  for (const Case& c : cases()) {
    CAPTURE(c.name);
    CHECK(train_in_ranks(c, 1) == train(c, nullptr, {}));
  }
}

TEST_CASE("The result does not depend on buckets, overlap or the run") {
  const Case c{.name = "fp32", .parts = {.batch_norm = true}};
  const Trained first = train_in_ranks(c, 3);
  CHECK(train_in_ranks(c, 3) == first);
  CHECK(train_in_ranks(c, 3, {.bucket_mb = 1e-4}) == first);
  CHECK(train_in_ranks(c, 3, {.overlap = false}) == first);
  CHECK(train_in_ranks(c, 3, {.bucket_mb = 1e-4, .overlap = false}) == first);
}

TEST_CASE("sums in halves follow the sums in f32 with half the bytes") {
  constexpr double kBFloat = 8e-2;  // gradients of 8 bits
  constexpr double kHalf = 2e-2;
  const auto add_accumulation = [](Learner& l) {
    l.add<callbacks::GradientAccumulation>(callbacks::AccumulateEvery{.batches = 2});
  };
  struct OnWire {
    Case training;
    double bytes;  // in relation to sums in f32
  };
  // The net has 24 + 8 * 27 + 3 * 131 parameters.
  const std::vector<OnWire> all{
      {{.name = "fp32", .tolerance = kBFloat}, 0.5},
      {{.name = "accumulation", .callbacks = add_accumulation, .tolerance = kBFloat}, 0.5},
      {{.name = "fp16", .callbacks = [](Learner& l) { callbacks::to_fp16(l); }, .tolerance = kHalf},
       0.5},
      {{.name = "bf16",
        .callbacks = [](Learner& l) { callbacks::to_bf16(l); },
        .tolerance = kBFloat},
       0.5},
      {{.name = "autocast",
        .callbacks = [](Learner& l) { callbacks::to_native_fp16(l); },
        .tolerance = kBFloat},
       0.5},
      {{.name = "pure fp16",
        .callbacks = [](Learner& l) { callbacks::to_pure_fp16(l); },
        .tolerance = 0.1},
       0.5},
      {{.name = "held halves",
        .callbacks =
            [&](Learner& l) {
              callbacks::to_fp16(l);
              add_accumulation(l);
            },
        .tolerance = kHalf},
       1},
  };
  for (const OnWire& half : all) {
    CAPTURE(half.training.name);
    std::array<std::int64_t, 2> sent{};
    const auto trained = [&](const callbacks::DataParallelOptions& options, int ranks) {
      Case c = half.training;
      c.callbacks = [&, more = c.callbacks](Learner& l) {
        more(l);
        callbacks::on(l, Event::train_end, [&](Learner& learn) {
          const Exchange& exchange = *learn.find<callbacks::DataParallel>()->exchange();
          if (exchange.rank() == 0) sent[options.wire == Wire::half] = exchange.costs().sent;
        });
      };
      return train_in_ranks(c, ranks, options);
    };
    const Trained alone = train(half.training, nullptr, {});
    for (const int ranks : {2, 4}) {
      CAPTURE(ranks);
      const Trained full = trained({}, ranks);
      const Trained halves = trained({.wire = Wire::half}, ranks);
      check_same_training(halves, alone, half.training.tolerance);
      CHECK(static_cast<double>(sent[1]) ==
            doctest::Approx(half.bytes * static_cast<double>(sent[0])));
      // The sum of two halves is rounded once either way.
      if (ranks > 2) CHECK((halves.weights == full.weights) == (half.bytes == 1));
      CHECK(trained({.bucket_mb = 1e-4, .wire = Wire::half}, ranks) == halves);
    }
  }
}

TEST_CASE("an overflow of a sum in halves skips the step on all ranks") {
  const Case c{.name = "overflow",
               .callbacks = [](Learner& l) { callbacks::to_fp16(l, {.loss_scale = 0x1p24F}); }};
  const Trained alone = train(c, nullptr, {});
  CHECK(alone.control.skipped > 0);
  for (const int ranks : {2, 4}) {
    CAPTURE(ranks);
    // Shares are weighted before the sum: no more overflows than in one process.
    CHECK(train_in_ranks(c, ranks, {.wire = Wire::half}).control.skipped == alone.control.skipped);
  }
}

TEST_CASE("the costs of the exchange are counted") {
  const auto check_costs = [](Learner& l) {
    const Exchange& exchange = *l.find<callbacks::DataParallel>()->exchange();
    const ExchangeCosts& costs = exchange.costs();
    const auto& threads = static_cast<const ThreadCommunicator&>(exchange.communicator());
    CHECK(costs.updates == 20);
    CHECK(costs.sent == static_cast<std::int64_t>(threads.traffic().summed_bytes));
    CHECK(costs.sent > 0);
    CHECK(costs.agreeing > 0);
    CHECK(costs.summing > 0);
  };
  (void)train_in_ranks(
      {.name = "costs",
       .parts = {.batch_norm = true},
       .callbacks =
           [&](Learner& l) { callbacks::on(l, Event::train_end, check_costs, "check_costs"); }},
      2);
}
