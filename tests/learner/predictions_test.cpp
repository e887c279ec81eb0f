// Results of get_preds in addition to outputs and targets.
#include "framework/tensor/factory.h"
#include "tests/learner/tiny_training.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace tiny;

namespace {

constexpr PredictionParts kAll{.with_inputs = true, .with_losses = true, .with_decoded = true};

/// A source whose batches have no targets.
class Unlabelled final : public BatchSource {
 public:
  explicit Unlabelled(std::vector<std::int64_t> sizes) : data_(std::move(sizes)) {}
  [[nodiscard]] std::int64_t batches() const override { return data_.batches(); }
  [[nodiscard]] std::int64_t samples() const override { return data_.samples(); }
  void begin(std::int64_t epoch) override { data_.begin(epoch); }
  [[nodiscard]] bool next(Batch& batch) override {
    if (!data_.next(batch)) return false;
    batch.y = {};
    return true;
  }

 private:
  Data data_;
};

}  // namespace

TEST_CASE("get_preds gives inputs and losses and classes of each sample if asked") {
  Training t({2}, {3, 1, 4});
  const Predictions plain = t.learn.get_preds(t.valid);
  CHECK(!plain.inputs.defined());
  CHECK(!plain.losses.defined());
  CHECK(!plain.decoded.defined());

  const Predictions out = t.learn.get_preds(t.valid, kAll);
  CHECK(values(out.preds) == values(plain.preds));
  CHECK(out.loss == plain.loss);
  CHECK(out.inputs.shape() == Shape{8, kFeatures});
  CHECK(out.losses.shape() == Shape{8});
  CHECK(out.decoded.shape() == Shape{8});
  double sum = 0;
  for (std::int64_t i = 0; i < 8; ++i) {
    double loss = 0;
    std::int64_t largest = 0;
    for (std::int64_t c = 0; c < kFeatures; ++c) {
      const double pred = get(out.preds, i * kFeatures + c);
      CHECK(pred == static_cast<float>(0.5 * get(out.inputs, i * kFeatures + c)));
      const double away = pred - get(out.targets, i * kFeatures + c);
      loss += away * away / 2;
      if (pred > get(out.preds, i * kFeatures + largest)) largest = c;
    }
    CHECK(get(out.losses, i) == doctest::Approx(loss).epsilon(1e-6));  // rounded to f32
    CHECK(get(out.decoded, i) == static_cast<double>(largest));
    sum += loss;
  }
  CHECK(out.loss == doctest::Approx(sum / 8).epsilon(1e-6));
}

TEST_CASE("losses of samples are the learner's own with its label smoothing") {
  Training t;
  Context ctx({.threads = 1});
  Data data({4, 1});
  Learner learn(
      ctx, Training::make_scale(), data, {.loss = nn::cross_entropy(0.2F), .report = Report::off});
  const Predictions out = learn.get_preds(data, kAll);
  for (std::int64_t i = 0; i < 5; ++i) {
    double sum = 0, expected = 0;
    for (std::int64_t c = 0; c < kFeatures; ++c) sum += std::exp(get(out.preds, i * kFeatures + c));
    for (std::int64_t c = 0; c < kFeatures; ++c) {
      const double weight = 0.8 * get(out.targets, i * kFeatures + c) + 0.2 / kFeatures;
      expected -= weight * (get(out.preds, i * kFeatures + c) - std::log(sum));
    }
    // Each of the few operations in f32 rounds by 6e-8.
    CHECK(get(out.losses, i) == doctest::Approx(expected).epsilon(1e-5));
  }
}

TEST_CASE("without targets losses are not computed, and NaN predicts no class") {
  Training t;
  Unlabelled data({2, 1});
  const Predictions out = t.learn.get_preds(data, kAll);
  CHECK(!out.losses.defined());
  CHECK(!out.targets.defined());
  CHECK(std::isnan(out.loss));
  CHECK(out.decoded.shape() == Shape{3});
  t.valid.gain_of_batch = [](std::size_t) { return std::nan(""); };
  const Predictions bad = t.learn.get_preds(t.valid, kAll);
  CHECK(get(bad.decoded, 0) == -1);
  CHECK(std::isnan(get(bad.losses, 0)));
}

TEST_CASE("a source without batches gives nothing") {
  Training t;
  Data nothing{std::vector<std::int64_t>{}};
  const Predictions out = t.learn.get_preds(nothing, kAll);
  CHECK(!out.preds.defined());
  CHECK(!out.decoded.defined());
  CHECK(std::isnan(out.loss));
}
