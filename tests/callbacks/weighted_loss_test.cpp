// A weighted mean stays one however samples are spread over batches.
#include "callbacks/gradient_accumulation.h"
#include "callbacks/lambda.h"
#include "callbacks/precision/mixed_precision.h"
#include "data/loading/loader.h"
#include "data/sets/arrays.h"
#include "framework/learner/learner.h"
#include "framework/nn/layers.h"
#include "framework/optim/sgd.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/host_tensor.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace learn;

namespace {

constexpr int kFeatures = 3;
constexpr int kClasses = 3;
constexpr unsigned kSeed = 20261125;
// Losses of a batch are f32 and of order 1; a pass is joined in double.
constexpr double kRounding = 1e-6;

/// 60, 30 and 7 samples of three classes, one class after the other as folders are read.
data::Dataset imbalanced() {
  INFO("seed ", kSeed);
  std::mt19937 random(kSeed);
  std::normal_distribution<float> normal;
  data::Arrays out{.sample = {kFeatures}};
  const int counts[kClasses] = {60, 30, 7};
  for (int c = 0; c < kClasses; ++c)
    for (int i = 0; i < counts[c]; ++i) {
      for (int f = 0; f < kFeatures; ++f) out.x.push_back(normal(random) + (f == c ? 1.0F : 0.0F));
      out.classes.push_back(c);
    }
  return data::from_arrays(std::move(out));
}

const std::vector<float> kWeights{0.5F, 1, 4};

struct Setting {
  nn::Loss loss(Context& ctx) const {
    const Tensor host = host_tensor<float>({kClasses}, weights);
    return nn::weighted_cross_entropy(to_device(ctx, ctx.persistent(), host), smoothing);
  }
  std::vector<float> weights = kWeights;
  float smoothing = 0;
};

class Training {
 public:
  Training(std::int64_t batch_size, const Setting& setting, bool shuffle = false)
      : loader_(ctx_, set_, {.batch_size = batch_size, .shuffle = shuffle, .workers = 0}),
        learn(ctx_,
              nn::make_model<nn::Linear>("linear", {kFeatures}, kClasses, kFeatures, kClasses),
              {loader_, loader_},
              {.loss = setting.loss(ctx_),
               .optimizer = optim::sgd({.momentum = 0.9F}),
               .report = Report::off}) {}

 private:
  Context ctx_{{.threads = 1}};
  data::Dataset set_ = imbalanced();
  data::Loader loader_;

 public:
  Learner learn;
};

/// The weighted mean over the whole set, computed apart: sum of w l over sum of w.
double expected(const Predictions& all, const Setting& setting) {
  const auto logits = all.preds.span<float>();
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < all.targets.span<std::int64_t>().size(); ++i) {
    double total = 0;
    for (std::size_t c = 0; c < kClasses; ++c) total += std::exp(double{logits[i * kClasses + c]});
    const auto target = static_cast<std::size_t>(all.targets.span<std::int64_t>()[i]);
    for (std::size_t c = 0; c < kClasses; ++c) {
      const double share = (c == target ? 1 - setting.smoothing : 0) + setting.smoothing / kClasses;
      sum -=
          double{setting.weights[c]} * share * (double{logits[i * kClasses + c]} - std::log(total));
    }
    weights += double{setting.weights[target]};
  }
  return sum / weights;
}

std::vector<float> masters(Training& t) {
  const auto values = t.learn.params().flat_master().span<float>();
  return {values.begin(), values.end()};
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double out = 0;
  for (std::size_t i = 0; i < a.size(); ++i) out = std::max(out, std::abs(double{a[i]} - b[i]));
  return out;
}

/// The masters after two epochs.
std::vector<float> trained(
    std::int64_t batch_size,
    const Setting& setting,
    const std::function<void(Learner&)>& prepare = [](Learner&) {}) {
  Training t(batch_size, setting);
  prepare(t.learn);
  t.learn.fit(2, 0.1);
  return masters(t);
}

}  // namespace

TEST_CASE("the loss of a pass does not depend on the batch size") {
  for (const float smoothing : {0.0F, 0.1F})
    for (const std::int64_t size : {1, 7, 8, 64, 1000}) {
      CAPTURE(smoothing);
      CAPTURE(size);
      const Setting setting{.smoothing = smoothing};
      Training t(size, setting);
      const Predictions all = t.learn.get_preds(t.learn.train_source());
      const double right = expected(all, setting);
      CHECK(all.loss / right == doctest::Approx(1).epsilon(kRounding));
      t.learn.validate();
      CHECK(t.learn.results().valid_loss / right == doctest::Approx(1).epsilon(kRounding));
      t.learn.fit(1, 1e-30);  // weights keep their bits
      CHECK(t.learn.results().train_loss / right == doctest::Approx(1).epsilon(kRounding));
      CHECK(t.learn.results().valid_samples == 97);
    }
}

TEST_CASE("a class of weight 0 takes no part, even in batches of that class only") {
  const Setting setting{.weights = {0, 1, 4}};
  for (const std::int64_t size : {1, 8, 1000}) {
    CAPTURE(size);
    Training t(size, setting);
    const double right = expected(t.learn.get_preds(t.learn.train_source()), setting);
    t.learn.fit(1, 1e-30);
    CHECK(t.learn.results().train_loss / right == doctest::Approx(1).epsilon(kRounding));
    CHECK(t.learn.results().skipped_steps == 0);
  }
}

TEST_CASE("a pass whose samples weigh nothing has no loss") {
  Training t(8, {.weights = {0, 0, 0}});
  t.learn.fit(1, 0.1);
  CHECK(std::isnan(t.learn.results().train_loss));
  CHECK(t.learn.results().skipped_steps == 0);
}

TEST_CASE("accumulated batches of weighted samples equal the big batch") {
  const auto accumulate = [](const callbacks::AccumulateEvery& every) {
    return [=](Learner& learn) { learn.add<callbacks::GradientAccumulation>(every); };
  };
  const Setting setting;
  // 97 samples: a rest of 33 for 64, of one for 32; the last batch of one class only.
  CHECK(distance(trained(32, setting, accumulate({.batches = 2})), trained(64, setting)) <
        kRounding);
  CHECK(distance(trained(7, setting, accumulate({.batches = 20})), trained(97, setting)) <
        kRounding);
  CHECK(distance(trained(1, setting, accumulate({.samples = 97})), trained(97, setting)) <
        kRounding);
  const Setting smooth{.smoothing = 0.1F};
  CHECK(distance(trained(32, smooth, accumulate({.batches = 2})), trained(64, smooth)) < kRounding);
  // The first batches weigh nothing.
  const Setting zero{.weights = {0, 1, 4}};
  CHECK(distance(trained(8, zero, accumulate({.batches = 20})), trained(97, zero)) < kRounding);
}

TEST_CASE("accumulated batches of weighted samples equal the big batch under a loss scale") {
  const auto half = [](std::int64_t batches) {
    return [=](Learner& learn) {
      callbacks::to_fp16(learn);
      if (batches > 1)
        learn.add<callbacks::GradientAccumulation>(callbacks::AccumulateEvery{batches});
    };
  };
  // Gradients of order 1 in f16, times 0.1, over four steps with momentum.
  CHECK(distance(trained(32, {}, half(2)), trained(64, {}, half(1))) < 0.1 * 0x1p-8);
}

TEST_CASE("the losses that lr_find tries are weighted, too") {
  // Almost no rate: each update's loss is that of the first weights.
  const LrFindOptions options{.start = 1e-30, .end = 1e-29, .iterations = 6};
  const Setting setting;
  Training all(97, setting);
  Training parts(7, setting);
  parts.learn.add<callbacks::GradientAccumulation>(callbacks::AccumulateEvery{20});
  const LrFindResult a = all.learn.lr_find(options);
  const LrFindResult b = parts.learn.lr_find(options);
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(b.losses[i] / a.losses[i] == doctest::Approx(1).epsilon(kRounding));
}

TEST_CASE("a training that continues in the middle of an epoch keeps the weights of its batches") {
  test::MemoryState state;
  double whole = 0;
  {
    Training t(8, {}, true);
    callbacks::on(t.learn, Event::batch_end, [&](Learner& learn) {
      if (learn.progress().batch_clock == 9) state = test::save(learn.context(), learn);
    });
    t.learn.fit(1, 0.1);
    whole = t.learn.results().train_loss;
  }
  Training t(8, {}, true);
  test::load(t.learn.context(), state, t.learn);
  t.learn.resume();
  t.learn.fit(1, 0.1);
  CHECK(t.learn.results().train_loss == whole);
}

TEST_CASE("the weight of a loss is one f32 element") {
  Context ctx({.threads = 1});
  const data::Dataset set = imbalanced();
  data::Loader loader(ctx, set, {.batch_size = 8, .workers = 0});
  nn::Loss loss = nn::cross_entropy();
  loss.weight = [](Tape& tape, const Tensor&) { return tape.input(tape.empty({2}, DType::f32)); };
  Learner learn(ctx,
                nn::make_model<nn::Linear>("linear", {kFeatures}, kClasses, kFeatures, kClasses),
                {loader, loader},
                {.loss = loss, .report = Report::off});
  CHECK_THROWS_WITH_AS(learn.validate(),
                       doctest::Contains("loss 'cross_entropy': the weight of a batch must be one "
                                         "f32 element, it has shape (2)"),
                       ShapeError);
}
