// A training that has stopped to learn is stopped, and one that seeks its loss scale is not.
#include "callbacks/gradient_clip.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/precision/native_mixed_precision.h"
#include "framework/learner/history/recorder.h"
#include "tests/callbacks/net_training.h"

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

using namespace tiny;
using namespace learn::callbacks;

namespace {

/// The batch that a training of one epoch ended in by a DivergedError, counted from 1; 0 if it came
/// to its end.
std::int64_t ended_in(Training& t, std::string* text = nullptr) {
  try {
    t.learn.fit(1, 0.01);
  } catch (const DivergedError& error) {
    if (text != nullptr) *text = error.what();
    return t.learn.progress().batch_clock;
  }
  return 0;
}

/// Twelve batches, of which those that `bad` names overflow.
struct Trial {
  explicit Trial(std::function<bool(std::size_t)> bad) : t(std::vector<std::int64_t>(12, 2)) {
    t.train.gain_of_batch = [bad = std::move(bad)](std::size_t batch) {
      return bad(batch) ? std::numeric_limits<double>::infinity() : 1.0;
    };
  }
  NetTraining t;
};

bool always(std::size_t) { return true; }

}  // namespace

TEST_CASE("skips in a row end a training with a static loss scale") {
  Trial trial(always);
  to_fp16(trial.t.learn, {.loss_scale = 8.0F, .scaling = {.dynamic = false}, .max_skips = 4});
  std::string text;
  CHECK(ended_in(trial.t, &text) == 4);
  CHECK(text.find("the last 4 steps in a row, up to batch 4, had gradients that are not finite, at "
                  "the lowest loss scale allowed, 8: try a lower learning rate, gradient clipping, "
                  "a lower scale or floor, or fp32") != std::string::npos);
  CHECK(trial.t.learn.params().working_dtype() == DType::f32);
}

TEST_CASE("settings that are in use already are not advised") {
  Trial trial(always);
  trial.t.learn.add<GradientClip>(0.5F);
  to_fp16(trial.t.learn, {.loss_scale = 8.0F, .scaling = {.dynamic = false}, .max_skips = 4});
  std::string text;
  CHECK(ended_in(trial.t, &text) == 4);
  CHECK(text.find("gradients clipped below 0.5") != std::string::npos);
  CHECK(text.find("gradient clipping") == std::string::npos);
}

TEST_CASE("skips in a row end a training without a loss scale, and one under autocast") {
  Trial bf16(always);
  to_fp32(bf16.t.learn);
  bf16.t.learn.add<MixedPrecision>(MixedPrecisionOptions{.dtype = DType::bf16, .max_skips = 3});
  CHECK(ended_in(bf16.t) == 3);
  Trial autocast(always);
  to_native_fp16(autocast.t.learn,
                 {.loss_scale = 8.0F, .scaling = {.dynamic = false}, .max_skips = 5});
  CHECK(ended_in(autocast.t) == 5);
  CHECK_FALSE(autocast.t.learn.autocast());
}

TEST_CASE("a dynamic loss scale may fall first, however many steps that takes") {
  Trial trial(always);
  // At its floor after the sixth.
  to_fp16(trial.t.learn, {.loss_scale = 64.0F, .max_skips = 2});
  CHECK(ended_in(trial.t) == 6);
}

TEST_CASE("skips that are not in a row do not end a training") {
  Trial trial([](std::size_t batch) { return batch % 4 != 3; });
  to_fp16(trial.t.learn, {.loss_scale = 8.0F, .scaling = {.dynamic = false}, .max_skips = 4});
  CHECK(ended_in(trial.t) == 0);
  CHECK(trial.t.learn.optimizer().read_control().skipped == 9);
  Trial shorter([](std::size_t batch) { return batch % 4 != 3; });
  to_fp16(shorter.t.learn, {.loss_scale = 8.0F, .scaling = {.dynamic = false}, .max_skips = 3});
  CHECK(ended_in(shorter.t) == 3);
}

TEST_CASE("skips of an earlier fit are not counted") {
  Trial trial(always);
  to_fp16(trial.t.learn, {.loss_scale = 8.0F, .scaling = {.dynamic = false}, .max_skips = 4});
  CHECK(ended_in(trial.t) == 4);
  CHECK(ended_in(trial.t) == 8);
  // The change has an effect, although the first batch is still bad.
  trial.t.train.gain_of_batch = [](std::size_t batch) {
    return batch == 0 ? std::numeric_limits<double>::infinity() : 1.0;
  };
  CHECK(ended_in(trial.t) == 0);
}

TEST_CASE("the usual limit is a hundred") {
  NetTraining t(std::vector<std::int64_t>(120, 2));
  t.train.gain_of_batch = [](std::size_t) { return std::numeric_limits<double>::infinity(); };
  to_fp16(t.learn, {.loss_scale = 1.0F});
  CHECK(ended_in(t) == 100);
}
