// Tests the options of single sections, without a whole experiment.
#include "apps/experiment/data_section.h"
#include "apps/experiment/device_section.h"
#include "apps/experiment/options.h"
#include "apps/experiment/training_section.h"
#include "framework/autograd/tape.h"
#include "framework/drawing/png.h"
#include "framework/tensor/factory.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <variant>
#include <vector>

using namespace learn;

namespace {

/// Two classes of ten training images each, no two alike, and one of each to test on.
class Images {
 public:
  Images() {
    for (const std::string part : {"train", "test"})
      for (const int label : {0, 1}) {
        const auto place = folder_ / part / std::to_string(label);
        std::filesystem::create_directories(place);
        for (int i = 0; i < (part == "train" ? 10 : 1); ++i)
          write_png(place / (std::to_string(i) + ".png"),
                    1,
                    1,
                    std::vector<std::uint8_t>(3, static_cast<std::uint8_t>(100 * label + i)));
      }
  }
  [[nodiscard]] data::DataPair load(DataSection section, std::int64_t seed = 0) const {
    section.data = folder_.path().string();
    return section.load(seed, 1);
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a limit of training images is a number, or a share if it has a point") {
  const Images images;
  const auto limited = [&](const char* limit) {
    DataSection section;
    section.train_limit = ImageLimit(std::string(limit));
    return images.load(section).train.size();
  };
  CHECK(limited("1") == 1);
  CHECK(limited("1.0") == 20);
  CHECK(limited("0.25") == 5);
  CHECK_THROWS_WITH_AS(limited("0.01"), doctest::Contains("leaves no image of 20"), UsageError);
}

TEST_CASE("a trial run loads no more than it needs and knows the sizes of the whole") {
  const Images images;
  struct Case {
    const char* limit;
    std::int64_t at_most, loaded, size;
  };
  for (const Case& c : {Case{"1.0", 6, 6, 20},
                        Case{"1.0", 60, 20, 20},
                        Case{"9", 6, 6, 9},
                        Case{"4", 6, 4, 4},
                        Case{"40", 6, 6, 20},
                        Case{"0.5", 6, 10, 10}}) {
    CAPTURE(c.limit);
    DataSection section;
    section.train_limit = ImageLimit(std::string(c.limit));
    section.at_most = c.at_most;
    const data::DataPair pair = images.load(section);
    CHECK(pair.train.size() == c.loaded);
    CHECK(section.train_size(pair) == c.size);
    CHECK(section.valid_size(pair) == 2);
  }
  DataSection section;
  section.at_most = 1;
  CHECK(images.load(section).valid.size() == 1);
  CHECK(section.valid_size(images.load(section)) == 2);
}

TEST_CASE("which images --val-split holds out follows from the seed") {
  const Images images;
  const auto trained_on = [&](std::int64_t seed) {
    DataSection section;
    section.val_split = 0.5;
    return images.load(section, seed).train.pixels;
  };
  CHECK(trained_on(1).size() == 3 * 10);
  CHECK(trained_on(1) == trained_on(1));
  CHECK(trained_on(1) != trained_on(2));
}

TEST_CASE("a normalization is as many means as deviations, of any number of channels") {
  CHECK(parse_normalization("0.5:2") == data::Normalization{{0.5F}, {2}});
  CHECK(parse_normalization("1:2:3:4:5:6:7:8").std == std::vector<float>{5, 6, 7, 8});
  for (const char* bad : {"", "1", "1:2:3", "1:2:3:0"})
    CHECK_THROWS_AS((void)parse_normalization(bad), UsageError);
}

TEST_CASE("classes are balanced by drawing, if requested") {
  DataSection section;
  using Balanced = data::BalancedSampling;
  CHECK_FALSE(std::holds_alternative<Balanced>(section.loader_options().sampling));
  section.sampling = "balanced";
  CHECK(std::holds_alternative<Balanced>(section.loader_options().sampling));
}

TEST_CASE("the seed reaches the context, which all random numbers come from") {
  DeviceSection section;
  section.device = "cpu";
  section.seed = 7;
  CHECK(section.context_options().seed == 7);
}

TEST_CASE("two rates belong to the first and the last layer group") {
  TrainingSection section;
  section.lr = {0.25, 1};
  CHECK(section.learning_rates().spread(3) == std::vector<float>{0.25F, 0.5F, 1});
}

namespace {

data::Dataset of_classes(std::size_t count) {
  data::Dataset set;
  set.classes.resize(count);
  return set;
}

}  // namespace

TEST_CASE("top_5 is measured for more than ten classes") {
  Context ctx({.threads = 1});
  const TrainingSection section;
  CHECK(section.learner_options(ctx, true, of_classes(10)).metrics.size() == 1);
  REQUIRE(section.learner_options(ctx, true, of_classes(11)).metrics.size() == 2);
  CHECK(section.learner_options(ctx, true, of_classes(11)).metrics[1].name == "top_5");
}

TEST_CASE("the loss fits the targets, or is the requested one") {
  Context ctx({.threads = 1});
  data::Dataset set = of_classes(2);
  set.name = "heights";
  set.classes = {"a", "b"};
  TrainingSection section;
  const auto loss = [&] { return section.learner_options(ctx, true, set).loss.name; };
  CHECK(loss() == nn::cross_entropy().name);
  section.loss = "huber:delta=2";
  CHECK_THROWS_WITH_AS((void)loss(),
                       "loss 'huber' is for real numbers; the targets of 'heights' are classes, "
                       "for which there are cross_entropy",
                       UsageError);
  set.target_kind = TargetKind::values;
  CHECK(loss() == nn::huber().name);
  section.class_weights = {"1", "2"};
  CHECK_THROWS_WITH_AS(
      (void)loss(),
      "--class-weights 1,2 has no effect: loss 'huber' does not support class weights",
      UsageError);
  section = {};
  CHECK(loss() == nn::mse().name);
  section = {};
  section.label_smoothing = 0.5;
  CHECK_THROWS_WITH_AS((void)loss(),
                       "--label-smoothing 0.5 has no effect: loss 'mse' has no option "
                       "'label_smoothing'",
                       UsageError);
  section = {};
  set.target_kind = TargetKind::labels;
  CHECK(loss() == nn::bce_with_logits().name);
  section.loss = "focal";
  CHECK(loss() == nn::focal().name);
}

TEST_CASE("labels and real numbers have separate metrics") {
  Context ctx({.threads = 1});
  data::Dataset set = of_classes(2);
  set.name = "heights";
  TrainingSection section;
  const auto metric = [&] { return section.learner_options(ctx, true, set).metrics.at(0).name; };
  set.target_kind = TargetKind::labels;
  CHECK(metric() == "accuracy_multi");
  set.target_kind = TargetKind::values;
  CHECK(metric() == "mae");
  section.metrics = {"r2"};
  CHECK(metric() == "r2");
  section.metrics = {"accuracy"};
  CHECK_THROWS_WITH_AS((void)metric(),
                       "metric 'accuracy' is for classes; the targets of 'heights' are real "
                       "numbers, for which there are mae, r2, rmse",
                       UsageError);
}

TEST_CASE("--class-weights sets the weight of each class in the loss") {
  Context ctx({.threads = 1});
  data::Dataset set = of_classes(2);
  set.name = "pets";
  set.classes = {"cat", "dog"};
  set.height = set.width = 1;
  set.labels = {0, 0, 0, 1};
  const Tensor logits = from_values(ctx.persistent(), {2, 2}, std::vector<double>{0, 2, 0, 2});
  Tensor target(ctx.persistent(), {2}, DType::i64);
  learn::set(target, 0, 0);
  learn::set(target, 1, 1);
  TrainingSection section;
  const auto loss = [&] {
    Tape tape(ctx);
    return get(section.learner_options(ctx, true, set).loss.fn(tape.input(logits), target).value(),
               0);
  };
  // -log p of the right class is log(1 + e^-2), of the other one 2 more. Rounded to f32.
  const double right = std::log1p(std::exp(-2.0));
  CHECK(loss() == doctest::Approx(right + 1).epsilon(1e-6));
  section.class_weights = {"1", "3"};
  CHECK(loss() == doctest::Approx(right + 0.5).epsilon(1e-6));
  section.class_weights = {"balanced"};  // 2 / 3 and 2
  CHECK(loss() == doctest::Approx(right + 0.5).epsilon(1e-6));
  section.class_weights = {"1", "2", "3"};
  CHECK_THROWS_WITH_AS((void)loss(),
                       "--class-weights 1,2,3: 3 weights for the 2 classes of 'pets' (cat, dog)",
                       UsageError);
  const OptionTable table = [&] {
    OptionTable t;
    section.declare(t);
    return t;
  }();
  set_options(table, OptionValues{{"class-weights", "balanced"}});
  CHECK_THROWS_AS(set_options(table, OptionValues{{"class-weights", "1,-2"}}), UsageError);
  CHECK_THROWS_AS(set_options(table, OptionValues{{"class-weights", "balanced,1"}}), UsageError);
  CHECK_THROWS_AS(set_options(table, OptionValues{{"loss", "mse:delta=1"}}), UsageError);
}

TEST_CASE("label smoothing is the loss's") {
  Context ctx({.threads = 1});
  const Tensor logits = from_values(ctx.persistent(), {1, 2}, std::vector<double>{0, 2});
  Tensor target(ctx.persistent(), {1}, DType::i64);
  set(target, 0, 1);
  for (const double smoothing : {0.0, 0.5}) {
    TrainingSection section;
    section.label_smoothing = smoothing;
    Tape tape(ctx);
    const double loss = get(section.learner_options(ctx, true, of_classes(2))
                                .loss.fn(tape.input(logits), target)
                                .value(),
                            0);
    // -log p of the right class is log(1 + e^-2), of the other one 2 more; of smoothing / 2 the
    // other one is the target. Rounded to f32.
    CHECK(loss == doctest::Approx(std::log1p(std::exp(-2.0)) + smoothing / 2 * 2).epsilon(1e-6));
  }
}
