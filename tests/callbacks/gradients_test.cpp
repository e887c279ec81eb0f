#include "callbacks/gradient_accumulation.h"
#include "callbacks/gradient_clip.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "framework/optim/sgd.h"
#include "tests/learner/tiny_training.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>

using namespace tiny;
using namespace learn::callbacks;

namespace {

struct Result {
  std::vector<double> masters;
  std::vector<std::int64_t> step_clock;  // after each batch
  double train_loss = 0;
};

LearnerOptions with_momentum() {
  LearnerOptions options;
  options.optimizer = optim::sgd({.momentum = 0.9F});
  return options;
}

/// Two epochs over batches of the given sizes.
Result train(std::vector<std::int64_t> sizes,
             const std::function<void(Training&)>& prepare,
             float lr = 0.1F) {
  Training t(std::move(sizes), {}, with_momentum());
  prepare(t);
  Result result;
  on(t.learn, Event::batch_end, [&](Learner& l) {
    result.step_clock.push_back(l.progress().step_clock);
  });
  t.learn.fit(2, static_cast<double>(lr));
  result.masters = values(t.learn.params().flat_master());
  result.train_loss = t.learn.results().train_loss;
  return result;
}

void check_close(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(a[i] - b[i]) <= tolerance);
  }
}

double norm_of(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

// Weights are of order 1. f32: some roundings of sums in another order. Half: gradients of order 1
// are rounded to 11 bits, times a rate of 0.1, over up to six steps with momentum.
constexpr double kF32 = 1e-6;
constexpr double kF16 = 0.1 * 0x1p-8;

}  // namespace

TEST_CASE("accumulated batches equal the big batch, unequal sizes and the remainder included") {
  struct Case {
    std::vector<std::int64_t> small;
    AccumulateEvery every;
    std::vector<std::int64_t> big;
    std::vector<std::int64_t> steps;
  };
  const std::vector<Case> cases{
      {{2, 2, 2, 2}, {.batches = 2}, {4, 4}, {0, 1, 1, 2}},
      {{2, 2, 2, 2, 2}, {.batches = 2}, {4, 4, 2}, {0, 1, 1, 2, 3}},
      {{2, 2, 2, 1}, {.batches = 2}, {4, 3}, {0, 1, 1, 2}},
      {{3, 3, 1}, {.batches = 5}, {7}, {0, 0, 1}},
      {{2, 2, 2, 2, 1}, {.samples = 3}, {4, 4, 1}, {0, 1, 1, 2, 3}},
      {{1, 3, 2}, {.samples = 4}, {4, 2}, {0, 1, 2}},
      {{2, 2}, {.batches = 1}, {2, 2}, {1, 2}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    const Case& c = cases[i];
    for (const bool half : {false, true}) {
      for (const bool clip : {false, true}) {
        CAPTURE(half);
        CAPTURE(clip);
        const auto prepare = [&](Training& t) {
          if (half) to_fp16(t.learn, {.loss_scale = 1024.0F});
          if (clip) t.learn.add<GradientClip>(0.3F);
        };
        const Result small = train(c.small, [&](Training& t) {
          prepare(t);
          t.learn.add<GradientAccumulation>(c.every);
        });
        const Result big = train(c.big, prepare);
        check_close(small.masters, big.masters, half ? kF16 : kF32);
        CHECK(small.train_loss == doctest::Approx(big.train_loss).epsilon(half ? 2e-3 : 1e-6));
        CHECK(std::vector<std::int64_t>(small.step_clock.begin(),
                                        small.step_clock.begin() + static_cast<std::ptrdiff_t>(
                                                                       c.steps.size())) == c.steps);
      }
    }
  }
}

TEST_CASE("gradients at step_begin equal those of the big batch") {
  const auto grads = [](std::vector<std::int64_t> sizes, bool accumulate, bool half) {
    std::vector<double> out;
    train(std::move(sizes), [&](Training& t) {
      if (half) to_fp16(t.learn, {.loss_scale = 1024.0F});
      if (accumulate) t.learn.add<GradientAccumulation>(AccumulateEvery{.batches = 2});
      on(t.learn, Event::step_begin, [&](Learner& l) { out = values(l.grads().flat_grad()); });
    });
    return out;
  };
  check_close(grads({2, 1}, true, false), grads({3}, false, false), kF32);
  check_close(grads({2, 1}, true, true), grads({3}, false, true), 0x1p-9);
}

TEST_CASE("one overflow in a window skips the whole update and its changes of the statistics") {
  Training t({2, 2, 2, 2}, {}, with_momentum());
  t.train.gain_of_batch = [](std::size_t batch) { return batch == 0 ? 2000.0 : 1.0; };
  to_fp16(t.learn, {.loss_scale = 512.0F});
  t.learn.add<GradientAccumulation>(AccumulateEvery{.batches = 2});
  const std::vector<double> masters = values(t.learn.params().flat_master());
  const std::vector<double> buffers = values(t.learn.params().flat_buffers());
  on(t.learn, Event::batch_end, [&](Learner& l) {
    if (l.progress().batch_in_pass != 1) return;
    CHECK(values(l.params().flat_master()) == masters);
    CHECK(values(l.params().flat_buffers()) == buffers);
    CHECK(l.optimizer().read_control().loss_scale == 256);
    CHECK(l.progress().step_clock == 0);
  });
  t.learn.fit(1, 0.1);
  CHECK(t.learn.progress().step_clock == 1);
  CHECK_FALSE(values(t.learn.params().flat_master()) == masters);
}

TEST_CASE("gradients that are held when their epoch is cancelled are dropped") {
  // The first epoch ends in its first window, before or after a batch of it has left gradients.
  const auto trained = [](Event event, const char* precision) {
    Training t({2, 2, 2, 2}, {2});
    if (std::string(precision) == "fp16") to_fp16(t.learn, {.loss_scale = 64.0F});
    t.learn.add<GradientAccumulation>(AccumulateEvery{.batches = 2});
    bool cancelled = false;
    on(t.learn, event, [&](Learner& l) {
      if (!std::exchange(cancelled, true)) l.cancel(Scope::epoch);
    });
    std::int64_t held = -1;
    on(t.learn, Event::epoch_end, [&](Learner& l) {
      if (held < 0) held = l.progress().gradients_held ? 1 : 0;
    });
    t.learn.fit(2, 0.1);
    CHECK(held == 0);
    CHECK(t.learn.progress().step_clock == 2);
    return std::pair(values(t.learn.params().flat_master()),
                     values(t.learn.params().flat_buffers()));
  };
  for (const char* const precision : {"fp32", "fp16"}) {
    CAPTURE(precision);
    CHECK(trained(Event::batch_end, precision) == trained(Event::batch_begin, precision));
  }
}

TEST_CASE("accumulation plans its steps") {
  Training t({2, 2, 2, 2, 2}, {});
  t.learn.add<GradientAccumulation>(AccumulateEvery{.batches = 2});
  std::int64_t planned = 0;
  on(t.learn, Event::epoch_begin, [&](Learner& l) { planned = l.progress().fit_steps; });
  t.learn.fit(3, 0);
  CHECK(planned == 9);
  CHECK(t.learn.progress().step_clock == 9);
}

TEST_CASE("clipping by norm limits the update, in every precision") {
  const auto moved = [](bool half, float limit) {
    Training t({4}, {});
    if (half) to_fp16(t.learn, {.loss_scale = 1024.0F});
    auto& clip = t.learn.add<GradientClip>(limit);
    CHECK(std::isnan(clip.last_norm(t.learn)));
    std::vector<double> grads;
    on(t.learn, Event::step_begin, [&](Learner& l) { grads = values(l.grads().flat_grad()); });
    const std::vector<double> before = values(t.learn.params().flat_master());
    t.learn.fit(1, 1);  // plain SGD's first step with rate 1 moves by the clipped gradient
    std::vector<double> step = values(t.learn.params().flat_master());
    for (std::size_t i = 0; i < step.size(); ++i) step[i] = before[i] - step[i];
    CHECK(clip.last_norm(t.learn) == doctest::Approx(norm_of(grads)).epsilon(1e-6));
    CHECK(norm_of(step) ==
          doctest::Approx(std::min(static_cast<double>(limit), norm_of(grads))).epsilon(1e-4));
    return step;
  };
  for (const float limit : {0.05F, 100.0F})
    check_close(moved(true, limit), moved(false, limit), 0x1p-9);  // gradients of order 1 in half
}

TEST_CASE("clipping by value limits each gradient, in every precision") {
  const auto moved = [](bool half) {
    Training t({4}, {});
    if (half) to_fp16(t.learn, {.loss_scale = 1024.0F});
    t.learn.add<GradientClip>(0.05F, ClipBy::value);
    const std::vector<double> before = values(t.learn.params().flat_master());
    t.learn.fit(1, 1);
    std::vector<double> step = values(t.learn.params().flat_master());
    double largest = 0;
    for (std::size_t i = 0; i < step.size(); ++i) {
      step[i] = before[i] - step[i];
      largest = std::max(largest, std::abs(step[i]));
    }
    CHECK(largest == doctest::Approx(0.05).epsilon(1e-5));
    return step;
  };
  check_close(moved(true), moved(false), 0x1p-9);
}

TEST_CASE("bad limits and counts are refused") {
  CHECK_THROWS_AS(GradientClip{0.0F}, UsageError);
  CHECK_THROWS_AS(GradientClip{-1.0F}, UsageError);
  CHECK_THROWS_AS(GradientClip{INFINITY}, UsageError);
  CHECK_THROWS_AS(GradientAccumulation(AccumulateEvery{}), UsageError);
  CHECK_THROWS_AS(GradientAccumulation(AccumulateEvery{.batches = 2, .samples = 2}), UsageError);
  CHECK_THROWS_AS(GradientAccumulation(AccumulateEvery{.batches = -1}), UsageError);
}
