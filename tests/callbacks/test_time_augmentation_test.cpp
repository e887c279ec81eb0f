#include "callbacks/test_time_augmentation.h"

#include "callbacks/ema.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "callbacks/precision/native_mixed_precision.h"
#include "callbacks/registry.h"
#include "framework/autograd/tape.h"
#include "framework/runtime/transfer.h"
#include "tests/callbacks/image_training.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace learn;
using callbacks::on;
using callbacks::TestTimeAugmentation;
using nn::TestViews;
using nn::ViewMean;
using test::kClasses;
using test::Numbers;
using test::numbers;
using Training = test::ImageTraining;

namespace {

/// The mean logits for the views, computed from a pass over each.
Numbers mean_logits(Training& t, const TestViews& views) {
  t.valid.begin(0);
  Batch batch;
  REQUIRE(t.valid.next(batch));
  Numbers mean(static_cast<std::size_t>(batch.size() * kClasses));
  for (const nn::ImageView& view : views.views()) {
    Tape tape(t.ctx, {.mode = ForwardMode::eval, .grad = false});
    const Numbers one =
        numbers(t.learn.model()(tape.input(nn::view_of(t.ctx, batch.x, view))).value());
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += view.weight * one[i];
  }
  return mean;
}

double cross_entropy(const Numbers& logits, const Numbers& classes) {
  double loss = 0;
  for (std::size_t n = 0; n < classes.size(); ++n) {
    double sum = 0;
    for (std::size_t c = 0; c < kClasses; ++c) sum += std::exp(logits[n * kClasses + c]);
    loss += std::log(sum) - logits[n * kClasses + static_cast<std::size_t>(classes[n])];
  }
  return loss / static_cast<double>(classes.size());
}

constexpr TestViews kLogits{.shift = 1, .mean = ViewMean::outputs};

}  // namespace

TEST_CASE("predictions are the mean for several views and losses measure it") {
  Training t;
  t.learn.fit(2, 0.05);
  const Numbers expected = mean_logits(t, kLogits);
  const double plain = t.learn.validate().valid_loss;
  t.learn.add<TestTimeAugmentation>(kLogits);
  const Predictions said = t.learn.get_preds(t.valid, {.with_losses = true});
  const Numbers preds = numbers(said.preds);
  for (std::size_t i = 0; i < preds.size(); ++i)
    CHECK(preds[i] == doctest::Approx(expected[i]).epsilon(1e-5));
  const double loss = cross_entropy(expected, numbers(said.targets));
  CHECK(said.loss == doctest::Approx(loss).epsilon(1e-5));
  CHECK(t.learn.validate().valid_loss == doctest::Approx(loss).epsilon(1e-5));
  CHECK(std::abs(plain - loss) > 1e-3);
  double sum = 0;
  for (std::int64_t i = 0; i < said.losses.elements(); ++i) sum += get(said.losses, i);
  CHECK(sum / static_cast<double>(said.losses.elements()) == doctest::Approx(loss).epsilon(1e-5));
}

TEST_CASE("views do not change the training") {
  Training plain, viewed;
  viewed.learn.add<TestTimeAugmentation>();
  plain.learn.fit(2, 0.05);
  viewed.learn.fit(2, 0.05);
  CHECK(numbers(plain.learn.params().flat_master()) ==
        numbers(viewed.learn.params().flat_master()));
  CHECK(plain.learn.results().train_loss == viewed.learn.results().train_loss);
  CHECK(plain.learn.results().valid_loss != viewed.learn.results().valid_loss);
}

TEST_CASE("half models and averages predict the mean of views, too") {
  for (const int precision : {0, 1, 2}) {
    CAPTURE(precision);
    Training t;
    if (precision == 1) callbacks::to_fp16(t.learn, {.loss_scale = 8.0F});
    if (precision == 2) callbacks::to_native_bf16(t.learn);
    t.learn.add<callbacks::Ema>(EmaOptions{.decay = 0.5});
    t.learn.add<TestTimeAugmentation>(kLogits);
    t.learn.fit(2, 0.05);
    const Predictions said = t.learn.get_preds(t.valid);
    // By hand, with the average as weights.
    copy(t.ctx, callbacks::Ema::average(t.learn), t.learn.params().flat_master());
    t.learn.params().refresh_working();
    t.learn.remove(*t.learn.find<callbacks::Ema>());
    if (precision == 1) callbacks::to_fp32(t.learn);
    const Numbers expected = mean_logits(t, kLogits);
    // A few roundings of bf16, of sums of about 1.
    const double rounding = precision == 0 ? 1e-5 : precision == 1 ? 5e-3 : 5e-2;
    const Numbers preds = numbers(said.preds);
    for (std::size_t i = 0; i < preds.size(); ++i)
      CHECK(std::abs(preds[i] - expected[i]) < rounding);
  }
}

TEST_CASE("views that cannot be made are refused") {
  CHECK_THROWS_AS(TestTimeAugmentation({.shift = -1}), UsageError);
  CHECK_THROWS_AS(TestTimeAugmentation({.plain = 1.5}), UsageError);
  Training t;
  t.learn.add<TestTimeAugmentation>(TestViews{.shift = test::kSide});
  CHECK_THROWS_WITH_AS(
      t.learn.validate(), doctest::Contains("must be smaller than the sides"), UsageError);
  CHECK_THROWS_AS((void)callbacks::make_from_text("tta:views=flip"), UsageError);
}
