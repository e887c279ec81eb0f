#include "framework/inference/predictor.h"

#include "data/images/resize.h"
#include "framework/core/error.h"
#include "framework/inference/load_run.h"
#include "framework/nn/layers.h"
#include "framework/tensor/host_tensor.h"
#include "tests/inference/trained.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/worse.h"

#include <doctest/doctest.h>
#include <malloc.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

using namespace learn;

namespace {

data::Image noise(std::int64_t height, std::int64_t width, std::uint32_t seed) {
  std::mt19937 random(seed);
  data::Image image{height, width, {}};
  image.pixels.resize(static_cast<std::size_t>(height * width * 3));
  for (std::uint8_t& v : image.pixels) v = static_cast<std::uint8_t>(random() & 255U);
  return image;
}

data::Image mirrored(const data::Image& image) {
  data::Image out = image;
  for (std::int64_t y = 0; y < image.height; ++y)
    for (std::int64_t x = 0; x < image.width; ++x)
      for (std::int64_t c = 0; c < 3; ++c)
        out.pixels[static_cast<std::size_t>((y * image.width + x) * 3 + c)] =
            image.pixels[static_cast<std::size_t>((y * image.width + image.width - 1 - x) * 3 + c)];
  return out;
}

Predictor trained(const PredictorOptions& options = {},
                  const SavedModel& description = test::small_description(),
                  float factor = 1) {
  const TemporaryFolder folder;
  test::write_trained(folder.path() / "a.safetensors", description, factor);
  return load_run(folder.path() / "a.safetensors", options);
}

/// The rounding of float probabilities through sums of other orders.
constexpr double kRounding = 1e-6;

void check_equal(const Prediction& a, const Prediction& b) {
  CHECK(a.label == b.label);
  REQUIRE(a.probabilities.size() == b.probabilities.size());
  for (std::size_t i = 0; i < a.probabilities.size(); ++i)
    CHECK(std::abs(a.probabilities[i] - b.probabilities[i]) < kRounding);
}

}  // namespace

TEST_CASE("the probabilities are the softmax of the normalized image through the weights") {
  SavedModel description = test::small_description("linear");
  description.input = {1, 1};
  Context ctx({.device = Device::cpu()});
  nn::Model model = description.make();
  model.params->materialize(ctx);
  REQUIRE(model.params->size() == 2);
  const auto weights = model.params->master(0).span<float>();
  const auto bias = model.params->master(1).span<float>();
  REQUIRE(weights.size() == 9);  // (classes, colours)
  for (std::size_t i = 0; i < 9; ++i) weights[i] = 0.1F * static_cast<float>(i) - 0.3F;
  for (std::size_t i = 0; i < 3; ++i) bias[i] = 0.2F * static_cast<float>(i);
  const std::vector<double> w(weights.begin(), weights.end());
  const std::vector<double> b(bias.begin(), bias.end());
  auto own = std::make_unique<Context>(ContextOptions{.device = Device::cpu()});
  nn::Model copy = description.make();
  copy.params->materialize(*own);
  for (std::int64_t i = 0; i < 2; ++i)
    std::ranges::copy(model.params->master(i).span<float>(),
                      copy.params->master(i).span<float>().begin());
  Predictor predict(std::move(own), std::move(copy), description);
  const Prediction p = predict({1, 1, {255, 128, 0}});

  const std::array<double, 3> pixel{255, 128, 0};
  std::array<double, 3> terms{};
  double sum = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    double logit = b[c];
    for (std::size_t k = 0; k < 3; ++k)
      logit += w[3 * c + k] * (pixel[k] / 255 - double{description.normalization.mean[k]}) /
               double{description.normalization.std[k]};
    sum += terms[c] = std::exp(logit);
  }
  for (std::size_t c = 0; c < 3; ++c)
    CHECK(std::abs(double{p.probabilities[c]} - terms[c] / sum) < kRounding);
  CHECK(p.name == description.classes[static_cast<std::size_t>(p.label)]);
}

TEST_CASE("an image is predicted alone as among others, whatever the batch size") {
  std::vector<data::Image> images;
  for (std::uint32_t i = 0; i < 7; ++i) images.push_back(noise(8, 12, i));
  Predictor predict = trained({.batch_size = 3});
  const std::vector<Prediction> all = predict(images);
  REQUIRE(all.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) check_equal(all[i], predict(images[i]));
  CHECK(predict(std::span<const data::Image>()).empty());
}

TEST_CASE("an image of any size is scaled to cover the model's input") {
  Predictor predict = trained();
  const data::Image large = noise(50, 31, 1);
  check_equal(predict(large), predict(data::resize_and_crop(large, 8, 12)));
  check_equal(predict(noise(1, 1, 2)), predict(data::resize_and_crop(noise(1, 1, 2), 8, 12)));
}

TEST_CASE("test-time augmentation means an image and its mirror image") {
  Predictor plain = trained();
  Predictor both = trained({.views = nn::TestViews{}});
  const data::Image image = noise(8, 12, 3);
  const Prediction a = plain(image);
  const Prediction b = plain(mirrored(image));
  const Prediction p = both(image);
  bool differ = false;
  for (std::size_t c = 0; c < 3; ++c) {
    CHECK(std::abs(p.probabilities[c] - (a.probabilities[c] + b.probabilities[c]) / 2) < kRounding);
    differ = differ || std::abs(a.probabilities[c] - b.probabilities[c]) > 10 * kRounding;
  }
  CHECK(differ);
}

TEST_CASE("the most probable classes come first and the lower of equal ones") {
  const Prediction p{.label = 1, .name = "b", .probabilities = {0.2F, 0.4F, 0.2F, 0.2F}};
  CHECK(p.top(2) == std::vector{1, 0});
  CHECK(p.top(9) == std::vector{1, 0, 2, 3});
  CHECK(p.top(0).empty());
  CHECK(p.top(-1).empty());
}

TEST_CASE("weights that are not finite predict no class") {
  Predictor predict =
      trained({}, test::small_description(), std::numeric_limits<float>::quiet_NaN());
  const Prediction p = predict(noise(8, 12, 4));
  CHECK(p.label == -1);
  CHECK(p.name.empty());
}

namespace {

SavedModel trained_on(TargetKind kind) {
  SavedModel description = test::small_description();
  description.target_kind = kind;
  return description;
}

}  // namespace

TEST_CASE("labels get a probability each, and real targets get values") {
  const std::vector<data::Image> images{noise(8, 12, 5), noise(8, 12, 6)};
  Predictor of_labels = trained({}, trained_on(TargetKind::labels));
  Predictor of_values = trained({}, trained_on(TargetKind::values));
  Predictor of_both = trained({.views = nn::TestViews{}}, trained_on(TargetKind::values));
  const std::vector<Prediction> labels = of_labels(images), values = of_values(images);
  for (std::size_t i = 0; i < images.size(); ++i) {
    CHECK(labels[i].label == -1);
    CHECK(labels[i].name.empty());
    CHECK(labels[i].values.empty());
    CHECK(values[i].probabilities.empty());
    REQUIRE(values[i].values.size() == 3);
    REQUIRE(labels[i].probabilities.size() == 3);
    const Prediction both = of_both(images[i]), other = of_values(mirrored(images[i]));
    for (std::size_t c = 0; c < 3; ++c) {
      const double logit{values[i].values[c]};  // the same weights
      CHECK(std::abs(double{labels[i].probabilities[c]} - 1 / (1 + std::exp(-logit))) < kRounding);
      CHECK(std::abs(double{both.values[c]} - (logit + double{other.values[c]}) / 2) < kRounding);
    }
    CHECK(labels[i].valid());
    CHECK(values[i].valid());
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const TargetKind kind : {TargetKind::labels, TargetKind::values})
    CHECK(!trained({}, trained_on(kind), nan)(images[0]).valid());
  CHECK(!Prediction{.values = {1, std::numeric_limits<float>::infinity()}}.valid());
}

TEST_CASE("labels are those above a probability, the most probable first") {
  const Prediction p{.probabilities = {0.5F, 0.2F, 0.9F, 0.6F}};
  CHECK(p.labels() == std::vector{2, 3});
  CHECK(p.labels(0.1) == std::vector{2, 3, 0, 1});
  CHECK(p.labels(0.95).empty());
}

TEST_CASE("several threads can use one predictor") {
  Predictor predict = trained({.context = {.threads = 2}});
  std::vector<data::Image> images;
  std::vector<Prediction> expected;
  for (std::uint32_t i = 0; i < 8; ++i) images.push_back(noise(8, 12, i));
  for (const data::Image& image : images) expected.push_back(predict(image));
  std::vector<std::vector<Prediction>> got(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < got.size(); ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round)
        for (const data::Image& image : images) got[t].push_back(predict(image));
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Prediction>& predictions : got)
    for (std::size_t i = 0; i < predictions.size(); ++i)
      check_equal(predictions[i], expected[i % expected.size()]);
}

TEST_CASE("a wrong image or an empty predictor is refused") {
  Predictor predict = trained();
  CHECK_THROWS_AS((void)predict({2, 2, {1, 2, 3}}), DataError);
  CHECK_THROWS_AS((void)predict({0, 0, {}}), DataError);
  CHECK_THROWS_WITH_AS((void)predict({1, 1, {1}, 1}),
                       "predict: an image of 1 channels; the model takes 3",
                       DataError);
  CHECK_THROWS_AS((void)predict.logits(host_tensor({1, 8, 13, 3}, DType::f32)), ShapeError);
  CHECK_THROWS_AS((void)predict.logits(host_tensor({1, 8, 12, 3}, DType::f16)), DTypeError);
  CHECK_THROWS_WITH_AS((void)trained({.batch_size = 0}),
                       "predictor: the batch size must be at least 1, got 0",
                       UsageError);
  const SavedModel description = test::small_description();
  SavedModel others = description;
  others.classes.pop_back();
  auto ctx = std::make_unique<Context>();
  nn::Model model = description.make();
  model.params->materialize(*ctx);
  SavedModel of_features = description;
  of_features.model = "mlp";
  of_features.input = {};
  of_features.channels = 5;
  of_features.normalization = {};
  auto other_ctx = std::make_unique<Context>();
  nn::Model mlp = nn::make_model<nn::Sequential>(
      "mlp", Shape{5}, 3, [](nn::Sequential& layers) { layers.emplace<nn::Linear>(5, 3); });
  mlp.params->materialize(*other_ctx);
  Predictor takes_features(std::move(other_ctx), std::move(mlp), of_features);
  CHECK(takes_features.logits(host_tensor({2, 5}, DType::f32)).shape() == Shape{2, 3});
  CHECK_THROWS_WITH_AS((void)takes_features({1, 1, {1, 2, 3}}),
                       "predict: 'mlp' takes features, not images",
                       UsageError);
  CHECK_THROWS_WITH_AS((void)takes_features.of_features(std::vector<float>(7)),
                       doctest::Contains("7 values are not a multiple of 5 features"),
                       UsageError);
  CHECK_THROWS_WITH_AS((void)trained().of_features(std::vector<float>(5)),
                       doctest::Contains("takes images, not features"),
                       UsageError);
  CHECK_THROWS_WITH_AS(Predictor(std::move(ctx), std::move(model), others),
                       "predictor: 2 names for a model of 3 outputs",
                       UsageError);
}

TEST_CASE("a predictor that was moved from is refused with the reason") {
  Predictor from = trained();
  Predictor to = std::move(from);
  CHECK(to.classes().size() == 3);
  const data::Image image{1, 1, {1, 2, 3}};
  const std::vector<std::function<void()>> uses{
      [&] { (void)from(image); },
      [&] { (void)from(std::span(&image, 1)); },
      [&] {
        (void)from.logits(host_tensor({1, 8, 12, 3}, DType::f32));
      },
      [&] { (void)from.classes(); },
      [&] { (void)from.description(); }};
  for (const auto& use : uses)
    CHECK_THROWS_WITH_AS(use(), doctest::Contains("was moved from"), std::logic_error);
  from = std::move(to);
  CHECK(from(image).valid());

  const SavedModel description = test::small_description();
  nn::Model model = description.make();
  CHECK_THROWS_WITH_AS(Predictor(nullptr, std::move(model), description),
                       "predictor: the context is missing; was it moved from?",
                       UsageError);
  CHECK_THROWS_WITH_AS(Predictor(std::make_unique<Context>(), nn::Model{}, description),
                       "predictor: the model's parameters or module is missing; was it moved from?",
                       UsageError);
}

TEST_CASE("rows of features are normalized and predicted, batch by batch") {
  SavedModel description{.model = "mlp",
                         .classes = {"a", "b"},
                         .input = {},
                         .normalization = {{10, 20, 30}, {2, 4, 8}}};
  description.channels = 3;
  const auto predictor = [&](const PredictorOptions& options) {
    auto ctx = std::make_unique<Context>();
    nn::Model model = nn::make_model<nn::Sequential>(
        "mlp", Shape{3}, 2, [](nn::Sequential& layers) { layers.emplace<nn::Linear>(3, 2); });
    model.params->materialize(*ctx);
    return Predictor(std::move(ctx), std::move(model), description, options);
  };
  Predictor two = predictor({.batch_size = 2});
  const std::vector<float> values{10, 20, 30, 12, 16, 38, 8, 28, 22};
  Tensor normalized = host_tensor({3, 3}, DType::f32);
  std::ranges::copy(std::vector<float>{0, 0, 0, 1, -1, 1, -1, 2, -1},
                    normalized.span<float>().begin());
  const Tensor logits = two.logits(normalized);
  const std::vector<Prediction> predictions = two.of_features(values);
  REQUIRE(predictions.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto row = logits.span<float>().subspan(2 * i, 2);
    const auto& p = predictions[i].probabilities;
    CHECK(std::log(p[0] / p[1]) == doctest::Approx(row[0] - row[1]).epsilon(1e-4));
    CHECK(predictions[i].name == (row[0] >= row[1] ? "a" : "b"));
  }
  CHECK(two.of_features({}).empty());
  CHECK_THROWS_WITH_AS((void)predictor({.views = nn::TestViews{}}).of_features(values),
                       doctest::Contains("features have no mirror image"),
                       UsageError);
}

TEST_CASE("a predictor computes in halves if requested") {
  Predictor exact = trained();
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const int digits = dtype == DType::bf16 ? 8 : 11;
    CAPTURE(dtype);
    Predictor halves = trained({.dtype = dtype});
    double worst = 0;
    for (std::uint32_t seed = 0; seed < 8; ++seed) {
      const Prediction wanted = exact(noise(40, 36, seed)), given = halves(noise(40, 36, seed));
      for (std::size_t c = 0; c < wanted.probabilities.size(); ++c)
        worst =
            test::worse(worst, double{std::abs(wanted.probabilities[c] - given.probabilities[c])});
    }
    // A few roundings of logits of about 1; and they are roundings, not the same bits.
    CHECK(worst < 8 * std::ldexp(1.0, -digits));
    CHECK(worst > 0);
  }
  CHECK_THROWS_AS((void)trained({.dtype = DType::f64}), DTypeError);
}

TEST_CASE("the memory of a predictor stays as it is through 10000 calls") {
  SavedModel description = test::small_description("linear");
  Predictor predict = trained({.context = {.threads = 1}}, description);
  const data::Image image = noise(20, 20, 5);  // scaled at each call
  const auto used = [] { return ::mallinfo2().uordblks; };
  for (int i = 0; i < 10; ++i) (void)predict(image);
  const std::size_t before = used();
  for (int i = 0; i < 10000; ++i) (void)predict(image);
  // Returns nothing under a sanitizer, which has its own allocator.
  CHECK(used() <= before + 1024);
}
