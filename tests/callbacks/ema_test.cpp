#include "callbacks/ema.h"

#include "callbacks/checkpointer.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "framework/io/checkpoint.h"
#include "framework/learner/history/recorder.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/memory_state.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace tiny;
using namespace learn::callbacks;

namespace {

using Numbers = std::vector<double>;

Numbers average(Learner& learn) { return values(Ema::average(learn)); }
Numbers masters(Learner& learn) { return values(learn.params().flat_master()); }

/// The average after each update, by its definition.
Numbers by_hand(const Numbers& first,
                const std::vector<Numbers>& later,
                double decay,
                bool warmup) {
  Numbers out = first;
  double t = 0;
  for (const Numbers& weights : later) {
    t += 1;
    const double d = warmup ? std::min(decay, (1 + t) / (10 + t)) : decay;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = d * out[i] + (1 - d) * weights[i];
  }
  return out;
}

void check_close(const Numbers& a, const Numbers& b) {
  REQUIRE(a.size() == b.size());
  // A few roundings of f32 to numbers below 2.
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 1e-6);
}

}  // namespace

TEST_CASE("the average follows the masters, also from fit to fit") {
  for (const bool warmup : {false, true}) {
    CAPTURE(warmup);
    Training t({2, 2, 1}, {2});
    t.learn.add<Ema>(EmaOptions{.decay = 0.75, .warmup = warmup});
    const Numbers first = masters(t.learn);
    std::vector<Numbers> later;
    on(t.learn, Event::batch_end, [&](Learner& l) {
      if (l.progress().training) later.push_back(masters(l));
    });
    t.learn.fit(2, 0.1);
    check_close(average(t.learn), by_hand(first, later, 0.75, warmup));
    t.learn.fit(1, 0.1);
    REQUIRE(later.size() == 9);
    check_close(average(t.learn), by_hand(first, later, 0.75, warmup));
    CHECK(average(t.learn) != masters(t.learn));
  }
}

TEST_CASE("an average that started late is resumed in the middle of its warm-up") {
  struct Run {
    Run() {
      t.learn.fit(4, 0.1);  // 12 updates before there is an average
      t.learn.add<Ema>(EmaOptions{.decay = 0.999});
    }
    Training t{{2, 2, 2}, {}};
  };
  Run straight;
  test::MemoryState state;
  on(straight.t.learn, Event::epoch_end, [&](Learner& l) {
    if (l.progress().epoch == 0) state = test::save(straight.t.ctx, l);
  });
  straight.t.learn.fit(2, 0.1);
  Run resumed;
  on(resumed.t.learn, Event::epoch_end, [](Learner&) {});
  test::load(resumed.t.ctx, state, resumed.t.learn);
  resumed.t.learn.resume();
  resumed.t.learn.fit(2, 0.1);
  CHECK(average(resumed.t.learn) == average(straight.t.learn));
  CHECK(average(resumed.t.learn) != masters(resumed.t.learn));
}

TEST_CASE("skipped steps are not averaged") {
  // The third batch overflows in f16, the second is skipped by hand.
  Training t({2, 2, 2, 2}, {});
  t.train.gain_of_batch = [](std::size_t batch) { return batch == 2 ? 60000.0 : 1.0; };
  callbacks::to_fp16(t.learn, {.loss_scale = 4096.0F});
  t.learn.add<Ema>(EmaOptions{.decay = 0.5});
  on(
      t.learn,
      Event::step_begin,
      [](Learner& l) {
        if (l.progress().batch_in_pass == 1) l.skip_step();
      },
      "skip",
      500);
  const Numbers first = masters(t.learn);
  std::vector<Numbers> all;
  std::vector<Numbers> averages;
  on(t.learn, Event::batch_end, [&](Learner& l) {
    all.push_back(masters(l));
    averages.push_back(average(l));
  });
  t.learn.fit(1, 0.1);
  CHECK(t.learn.progress().step_clock == 2);
  REQUIRE(averages.size() == 4);
  CHECK(averages[1] == averages[0]);
  CHECK(averages[2] == averages[0]);
  check_close(averages[3], by_hand(first, {all[0], all[3]}, 0.5, true));
}

TEST_CASE("validation measures the average, and the weights come back") {
  for (const DType precision : {DType::f32, DType::f16}) {
    CAPTURE(std::string(name_of(precision)));
    Training t({2, 2}, {2, 1});
    if (precision == DType::f16) to_fp16(t.learn, {.loss_scale = 64.0F});
    t.learn.add<Ema>(EmaOptions{.decay = 0.9, .warmup = false});
    Numbers trained;
    Numbers shown;
    on(
        t.learn, Event::validate_begin, [&](Learner& l) { trained = masters(l); }, "before", -100);
    on(
        t.learn,
        Event::batch_begin,
        [&](Learner& l) {
          if (l.progress().training) return;
          shown = masters(l);
          const std::int64_t weight = l.params().find("weight");
          Numbers expected = values(l.params().master(weight));
          if (precision == DType::f16)
            for (double& w : expected)
              w = static_cast<double>(to_float(to_half(static_cast<float>(w))));
          CHECK(values(l.params().slot(weight).value) == expected);
        },
        "inside");
    t.learn.fit(2, 0.1);
    CHECK(shown == average(t.learn));
    CHECK(masters(t.learn) == trained);
    const double averaged_loss = t.learn.results().valid_loss;
    t.learn.validate();
    CHECK(t.learn.results().valid_loss == averaged_loss);
    CHECK(masters(t.learn) == trained);
    CHECK(t.learn.get_preds(t.valid).loss == averaged_loss);
    t.learn.remove(*t.learn.find<Ema>());
    t.learn.validate();
    CHECK(t.learn.results().valid_loss != averaged_loss);
  }
}

TEST_CASE("training has its own weights again after a validation of the average, half copies too") {
  for (const DType precision : {DType::f32, DType::f16, DType::bf16}) {
    CAPTURE(std::string(name_of(precision)));
    Training t({2, 2}, {2, 1});
    if (precision == DType::f16) to_fp16(t.learn, {.loss_scale = 64.0F});
    if (precision == DType::bf16) to_bf16(t.learn);
    t.learn.add<Ema>(EmaOptions{.decay = 0.9, .warmup = false});
    const auto used = [](Learner& l) {
      std::vector<Numbers> all;
      for (std::int64_t i = 0; i < l.params().size(); ++i)
        all.push_back(values(l.params().slot(i).value));
      return all;
    };
    std::vector<Numbers> before;
    int compared = 0;
    on(
        t.learn, Event::validate_begin, [&](Learner& l) { before = used(l); }, "before", -100);
    on(t.learn, Event::batch_begin, [&](Learner& l) {
      if (l.progress().training && l.progress().batch_in_pass == 0 && !before.empty()) {
        CHECK(used(l) == before);
        ++compared;
      }
    });
    t.learn.fit(3, 0.1);
    CHECK(compared == 2);
  }
}

TEST_CASE("without evaluation the average does not affect validation") {
  const auto loss = [](bool with) {
    Training t({2, 2}, {2});
    if (with) t.learn.add<Ema>(EmaOptions{.decay = 0.9}, false);
    t.learn.fit(2, 0.1);
    return std::pair(t.learn.results().valid_loss, masters(t.learn));
  };
  CHECK(loss(true) == loss(false));
}

TEST_CASE("before there is an average, the model is measured as it is") {
  Training t;
  t.learn.validate();
  const double plain = t.learn.results().valid_loss;
  t.learn.add<Ema>();
  t.learn.validate();
  CHECK(t.learn.results().valid_loss == plain);
}

TEST_CASE("the weights come back after an error in a validation pass") {
  Training t({2, 2}, {2});
  t.learn.add<Ema>(EmaOptions{.decay = 0.9});
  Numbers trained;
  on(
      t.learn, Event::validate_begin, [&](Learner& l) { trained = masters(l); }, "before", -100);
  on(t.learn, Event::loss_begin, [](Learner& l) {
    if (!l.progress().training) throw std::runtime_error("broken");
  });
  CHECK_THROWS_AS(t.learn.fit(1, 0.1), std::runtime_error);
  CHECK(masters(t.learn) == trained);
}

TEST_CASE("best.safetensors holds the average, last.safetensors both") {
  const TemporaryFolder folder;
  Training t({2, 2}, {2});
  t.learn.add<Recorder>();
  t.learn.add<Checkpointer>(CheckpointerOptions{.folder = folder.path()});
  t.learn.add<Ema>(EmaOptions{.decay = 0.9});
  t.learn.fit(1, 0.1);
  Training best;
  (void)load_weights(folder / "best.safetensors", best.learn.params());
  CHECK(masters(best.learn) == average(t.learn));
  Training last;
  (void)load_weights(folder / "last.safetensors", last.learn.params());
  CHECK(masters(last.learn) == masters(t.learn));
  CHECK(SafetensorsFile(folder / "last.safetensors").tensors().contains("model.ema.weight"));
}

TEST_CASE("an invalid decay is refused") {
  for (const double decay : {-0.1, 1.0, std::nan("")})
    CHECK_THROWS_AS(Ema(EmaOptions{.decay = decay}), UsageError);
}
