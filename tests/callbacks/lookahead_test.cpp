#include "callbacks/lookahead.h"

#include "callbacks/gradient_accumulation.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "framework/optim/sgd.h"
#include "tests/callbacks/resumed.h"
#include "tests/learner/tiny_training.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace tiny;
using namespace learn::callbacks;

namespace {

using Numbers = std::vector<double>;

Numbers masters(Learner& learn) { return values(learn.params().flat_master()); }
Numbers buffers(Learner& learn) { return values(learn.params().flat_buffers()); }

LearnerOptions plain_sgd() {
  LearnerOptions options;
  options.optimizer = optim::sgd({});
  return options;
}

Numbers mixed(double d, const Numbers& slow, const Numbers& fast) {
  Numbers out = slow;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = d * slow[i] + (1 - d) * fast[i];
  return out;
}

void check_close(const Numbers& a, const Numbers& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 1e-6);  // f32, below 2
}

/// The weights and running statistics before the averaging of each batch, and after it.
struct Step {
  Numbers fast, fast_buffers, masters, buffers;
};

std::vector<Step> watch(Training& t, std::int64_t epochs) {
  std::vector<Step> steps;
  on(
      t.learn,
      Event::batch_end,
      [&](Learner& l) {
        if (l.progress().training) steps.push_back({masters(l), buffers(l), {}, {}});
      },
      "before",
      -100);
  on(
      t.learn,
      Event::batch_end,
      [&](Learner& l) {
        if (!l.progress().training) return;
        steps.back().masters = masters(l);
        steps.back().buffers = buffers(l);
      },
      "after",
      100);
  t.learn.fit(epochs, 0.1);
  return steps;
}

}  // namespace

TEST_CASE("weights and running statistics are averaged every few updates, by a growing weight") {
  Training t({2, 2, 2, 2, 2}, {2}, plain_sgd());
  t.learn.add<Lookahead>(LookaheadOptions{.every = 2, .keep = 0.8, .power = 3});
  Numbers slow = masters(t.learn);
  Numbers slow_buffers = buffers(t.learn);
  const std::vector<Step> steps = watch(t, 3);
  REQUIRE(steps.size() == 15);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    CAPTURE(i);
    const std::size_t made = i + 1;
    if (made == 15 || made % 2 == 0) {
      const double d = made == 15 ? 1 : 0.8 * std::pow(static_cast<double>(made) / 15, 3);
      slow = mixed(d, slow, steps[i].fast);
      slow_buffers = mixed(d, slow_buffers, steps[i].fast_buffers);
      check_close(steps[i].masters, slow);
      check_close(steps[i].buffers, slow_buffers);
    } else {
      CHECK(steps[i].masters == steps[i].fast);
    }
  }
  CHECK(steps[14].masters != steps[14].fast);
}

TEST_CASE("with accumulation updates are counted, and a power of 0 keeps the weight") {
  Training t({2, 2, 2, 2}, {}, plain_sgd());
  t.learn.add<GradientAccumulation>(AccumulateEvery{.batches = 2});
  t.learn.add<Lookahead>(LookaheadOptions{.every = 3, .keep = 0.5, .power = 0});
  const Numbers first = masters(t.learn);
  const std::vector<Step> steps = watch(t, 3);  // 12 batches, 6 updates
  REQUIRE(steps.size() == 12);
  for (std::size_t i = 0; i < 11; ++i)
    if (i != 5) CHECK(steps[i].masters == steps[i].fast);
  const Numbers slow = mixed(0.5, first, steps[5].fast);
  check_close(steps[5].masters, slow);
  check_close(steps[11].masters, slow);
}

TEST_CASE("a half model continues from its averaged weights") {
  Training t({2, 2, 2}, {}, plain_sgd());
  to_fp16(t.learn, {.loss_scale = 64.0F});
  t.learn.add<Lookahead>(LookaheadOptions{.every = 2, .keep = 0.5, .power = 0});
  int compared = 0;
  on(
      t.learn,
      Event::batch_end,
      [&](Learner& l) {
        const std::int64_t weight = l.params().find("weight");
        const Numbers master = values(l.params().master(weight));
        const Numbers half = values(l.params().slot(weight).value);
        for (std::size_t i = 0; i < half.size(); ++i)
          CHECK(half[i] == static_cast<double>(to_float(to_half(static_cast<float>(master[i])))));
        ++compared;
      },
      "compare",
      100);
  t.learn.fit(2, 0.1);
  CHECK(compared == 6);
}

TEST_CASE("a resumed run has the slow weights that an uninterrupted one has") {
  struct Run {
    Run() { t.learn.add<Lookahead>(LookaheadOptions{.every = 3, .keep = 0.9, .power = 1}); }
    Training t{{2, 2, 2, 2}, {}};
  };
  Run straight;
  test::MemoryState state;
  test::save_after(straight.t.learn, 5, state);
  straight.t.learn.fit(3, 0.1);
  Run resumed;
  test::resume_from(resumed.t.learn, state);
  resumed.t.learn.fit(3, 0.1);
  CHECK(masters(resumed.t.learn) == masters(straight.t.learn));
  CHECK(buffers(resumed.t.learn) == buffers(straight.t.learn));
}

TEST_CASE("each fit starts with new slow weights") {
  Training t({2, 2}, {}, plain_sgd());
  t.learn.add<Lookahead>(LookaheadOptions{.every = 2, .keep = 0.5, .power = 0});
  t.learn.fit(2, 0.1);
  const Numbers first = masters(t.learn);
  const std::vector<Step> steps = watch(t, 2);
  check_close(steps[1].masters, mixed(0.5, first, steps[1].fast));
}

TEST_CASE("impossible options of lookahead are refused") {
  for (const LookaheadOptions& wrong : {LookaheadOptions{.every = 0},
                                        LookaheadOptions{.keep = 1.5},
                                        LookaheadOptions{.keep = -0.1},
                                        LookaheadOptions{.power = -1}})
    CHECK_THROWS_AS(Lookahead{wrong}, UsageError);
}
