// --preset notebook is the training of fastai's nb_004b, in every number.
#include "apps/experiment/experiment.h"
#include "apps/learn/training/train_options.h"
#include "callbacks/precision/mixed_precision.h"
#include "framework/drawing/png.h"
#include "framework/learner/history/recorder.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace learn;
using namespace learn::cli;

namespace {

/// Images that one epoch is enough for: under a blue sky something bright, on brown something
/// dark, both noisy, at places and in sizes that are drawn.
void draw_images(const std::filesystem::path& folder, int count, std::mt19937& random) {
  constexpr int kSide = 32;
  const auto below = [&](unsigned limit) { return static_cast<int>(random() % limit); };
  for (const bool sky : {true, false}) {
    const std::filesystem::path place = folder / (sky ? "airplane" : "dog");
    std::filesystem::create_directories(place);
    for (int i = 0; i < count; ++i) {
      const std::array<int, 3> ground = sky ? std::array{90, 130, 190} : std::array{130, 100, 70};
      const int size = 6 + below(12);
      const int top = below(static_cast<unsigned>(kSide - size));
      const int left = below(static_cast<unsigned>(kSide - size));
      std::vector<std::uint8_t> pixels;
      for (int y = 0; y < kSide; ++y)
        for (int x = 0; x < kSide; ++x) {
          const bool inside = y >= top && y < top + size && x >= left && x < left + size;
          for (const int colour : ground) {
            const int value = (inside ? (sky ? 220 : 40) : colour) + below(61) - 30;
            pixels.push_back(static_cast<std::uint8_t>(std::clamp(value, 0, 255)));
          }
        }
      write_png(place / fmt::format("{:04}.png", i), kSide, kSide, pixels);
    }
  }
}

/// Images of both classes for training, and a few for validation, the same each time.
struct Images {
  Images(int training, int validation) {
    std::mt19937 random(7);
    draw_images(folder / "train", training, random);
    draw_images(folder / "test", validation, random);
  }
  /// The preset on them, with some of its options replaced.
  [[nodiscard]] ExperimentOptions notebook(OptionValues values) const {
    values.insert(values.begin(),
                  {{"preset", "notebook"}, {"data", folder.path().string()}, {"device", "cpu"}});
    TrainOptions options;
    options.resolve(options.table(), values);
    return options.experiment;
  }
  TemporaryFolder folder;
};

const OptionValues kFp32{};
const OptionValues kFp16{{"precision", "fp16"}};
const OptionValues kGroups{{"precision", "fp16"}, {"split", "layers.9,layers.15"}};

struct Rates {
  std::vector<float> lr, momentum;
};

/// dev_nb's OneCycleScheduler(learn, 0.1) by hand, each hyper-parameter as a batch is trained with
/// it: Steppers of int(n * 0.5) and the rest of the n batches.
Rates one_cycle_by_hand(int n) {
  const int rising = n / 2;
  const double low = 0.1 / 25;
  Rates out;
  for (int k = 0; k < n; ++k) {
    const bool up = k < rising;
    const double t = up ? static_cast<double>(k) / rising
                        : static_cast<double>(k - rising) / static_cast<double>(n - rising);
    const double cosine = (std::cos(std::numbers::pi * t) + 1) / 2;
    const double end = low / 1e4;
    out.lr.push_back(static_cast<float>(up ? low + t * (0.1 - low) : end + (0.1 - end) * cosine));
    out.momentum.push_back(
        static_cast<float>(up ? 0.95 + t * (0.85 - 0.95) : 0.95 + (0.85 - 0.95) * cosine));
  }
  return out;
}

}  // namespace

TEST_CASE("the notebook: statistics, net, optimizer, decay, and how fp16 is trained") {
  const Images images(32, 2);
  for (const OptionValues& variant : {kFp32, kFp16, kGroups}) {
    Experiment experiment(images.notebook(variant));
    Learner& learn = experiment.learner();
    CHECK(learn.model_info().classes == 2);
    CHECK(learn.params().parameter_count() == 5'067'378);
    CHECK(experiment.metadata("").at("learn.normalization") ==
          "0.491 0.482 0.447 0.247 0.243 0.261");
    CHECK(learn.optimizer().name() == "adamw");
    CHECK(learn.optimizer().options().decay == optim::WeightDecay::decoupled);
    const bool split = !variant.empty() && variant.back().first == "split";
    REQUIRE(learn.params().groups() == (split ? 6 : 2));
    for (int group = 0; group < learn.params().groups(); ++group) {
      const GroupHypers hypers = learn.optimizer().hypers(group);
      CHECK(hypers.momentum == 0.9F);
      CHECK(hypers.beta2 == 0.99F);
      CHECK(hypers.eps == 1e-8F);
      CHECK(hypers.weight_decay == 0.01F);  // of BatchNorm and biases too
    }
    const auto* const mixed = learn.find<callbacks::MixedPrecision>();
    REQUIRE((mixed == nullptr) == variant.empty());
    if (mixed == nullptr) continue;
    CHECK(mixed->options().dtype == DType::f16);
    CHECK(mixed->options().loss_scale == 512.0F);
    CHECK_FALSE(mixed->options().scaling.dynamic);
    CHECK_FALSE(mixed->options().flat_master);
  }
}

TEST_CASE("the notebook: each batch has the rate and momentum of dev_nb's scheduler") {
  // An odd number of batches, of which int(5 * 0.5) rise.
  const Images images(160, 2);
  ExperimentOptions options = images.notebook(kFp32);
  options.model.width = 2;
  Experiment experiment(options);
  CHECK(options.training.epochs == 1);
  auto& recorder = experiment.learner().add<Recorder>();
  experiment.fit();
  const std::vector<BatchRecord> batches = recorder.batches(experiment.learner());
  const Rates expected = one_cycle_by_hand(5);
  REQUIRE(batches.size() == expected.lr.size());
  for (std::size_t k = 0; k < batches.size(); ++k) {
    CAPTURE(k);
    // Two doubles that are computed in another order are rounded to float.
    CHECK(std::abs(batches[k].lr / expected.lr[k] - 1) < 3e-7F);
    CHECK(std::abs(batches[k].momentum / expected.momentum[k] - 1) < 3e-7F);
  }
}

TEST_CASE("the requested statistics of the colours are used") {
  const Images images(32, 2);
  const auto used = [&](const std::string& text) {
    return Experiment(images.notebook({{"normalize", text}, {"width", "2"}}))
        .metadata("")
        .at("learn.normalization");
  };
  CHECK(used("cifar10") == "0.491 0.482 0.447 0.247 0.243 0.261");
  CHECK(used("0.5:0:-0.25:1:2:0.125") == "0.5 0 -0.25 1 2 0.125");
  CHECK(used("measured") == used("auto"));
  CHECK(used("measured") != used("cifar10"));
}

TEST_SUITE("slow") {
  TEST_CASE("the notebook: its three variants learn airplanes and dogs") {
    const Images images(1600, 100);
    std::vector<double> losses;
    for (const OptionValues& variant : {kFp32, kFp16, kGroups}) {
      CAPTURE(losses.size());
      Experiment experiment(images.notebook(variant));
      experiment.fit();
      const PassResults& results = experiment.learner().results();
      CHECK(experiment.learner().progress().batch_clock == 50);
      CHECK(results.skipped_steps == 0);
      CHECK(results.metrics.front().second > 0.9);
      losses.push_back(results.valid_loss);
    }
    CHECK(losses[0] != losses[1]);
    // With one rate for all groups they change where weights lie, and nothing that is learned.
    CHECK(losses[2] == losses[1]);
  }
}
