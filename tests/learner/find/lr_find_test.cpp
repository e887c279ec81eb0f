#include "framework/learner/find/lr_find.h"

#include "framework/optim/adam.h"
#include "framework/optim/sgd.h"
#include "tests/golden/lr_suggestions.h"
#include "tests/golden/lr_sweep.h"
#include "tests/learner/tiny_training.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace tiny;

namespace {

/// The rates of the first two layer groups at each update.
class RateWatch final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "rate_watch"; }
  void step_begin(Learner& learn) override {
    rates.emplace_back(learn.optimizer().lr(0), learn.optimizer().lr(1));
  }
  std::vector<std::pair<float, float>> rates;
};

}  // namespace

TEST_CASE("suggestions equal those of fastai's own functions") {
  for (const auto& golden : golden::kLrCurves) {
    CAPTURE(golden.name);
    const LrSuggestions found = suggest_lrs(golden.lrs, golden.losses, golden.iterations);
    const auto named = found.named();
    for (std::size_t i = 0; i < named.size(); ++i) {
      CAPTURE(named[i].first);
      REQUIRE(named[i].second.has_value());
      // The rate is one of the curve's in f32; a tenth of it is computed in double by both.
      CHECK(*named[i].second / golden.suggested[i] == doctest::Approx(1).epsilon(1e-6));
    }
  }
}

TEST_CASE("a curve too short for a rule has no suggestion of it") {
  const std::vector<double> lrs{1, 2, 3, 4, 5, 6, 7};
  const std::vector<double> losses{7, 6, 5, 4, 3, 2, 1};
  const LrSuggestions two = suggest_lrs(lrs, losses, 6);
  CHECK(two.valley == 2);
  CHECK_FALSE(two.slide);
  CHECK(two.minimum == doctest::Approx(0.2));
  CHECK(two.steep == 1);
  const LrSuggestions one = suggest_lrs(lrs, losses, 10);
  CHECK(one.valley == 2);
  CHECK_FALSE(one.steep);
  const LrSuggestions none = suggest_lrs(lrs, losses, 20);
  CHECK_FALSE(none.valley);
  CHECK_FALSE(none.minimum);
  std::vector<double> nan = losses;
  nan[0] = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(suggest_lrs(lrs, nan, 6).valley);
}

TEST_CASE("rates rise as fastai's and the loss is smoothed as fastai's") {
  Training t({2, 2, 2}, {2});
  const LrFindResult found =
      t.learn.lr_find({.start = 1e-4, .end = 1e-2, .iterations = 20, .stop = false});
  REQUIRE(found.lrs.size() == 20);
  CHECK(found.ended == LrFindEnd::done);
  CHECK(found.why() == "all rates were tried, up to 0.00794");
  double mean = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    const auto n = static_cast<double>(i);
    CHECK(found.lrs[i] / (1e-4 * std::pow(100.0, n / 20)) == doctest::Approx(1).epsilon(1e-6));
    mean = 0.98 * mean + 0.02 * found.losses[i];
    CHECK(found.smoothed[i] / (mean / (1 - std::pow(0.98, n + 1))) == doctest::Approx(1));
  }
}

TEST_CASE("a sweep ends when the loss explodes, unless that is disabled") {
  Training t({2, 2}, {});
  const LrFindOptions wide{.start = 0.01, .end = 1e4, .iterations = 60};
  const LrFindResult found = t.learn.lr_find(wide);
  CHECK(found.ended == LrFindEnd::exploded);
  CHECK(found.why().find("4 times its lowest value") != std::string::npos);
  double best = found.smoothed[0];
  for (std::size_t i = 0; i + 1 < found.smoothed.size(); ++i) {
    best = std::min(best, found.smoothed[i]);
    CHECK(found.smoothed[i] <= 4 * best);
  }
  CHECK(found.smoothed.back() > 4 * best);
  LrFindOptions all = wide;
  all.stop = false;
  CHECK(t.learn.lr_find(all).lrs.size() == 60);
}

TEST_CASE("a sweep ends when the loss is not finite") {
  Training t({2, 2}, {});
  std::int64_t from = 5;
  t.train.gain_of_batch = [&](std::size_t) {
    return t.learn.progress().batch_clock >= from ? 1e30 : 1.0;
  };
  const LrFindResult found = t.learn.lr_find({.start = 1e-5, .end = 1e-3, .iterations = 30});
  CHECK(found.ended == LrFindEnd::not_finite);
  CHECK(found.why().find("no longer finite") != std::string::npos);
  CHECK(found.lrs.size() == 6);
  from = 0;
  CHECK_THROWS_WITH_AS(
      (void)t.learn.lr_find(), doctest::Contains("before the first update"), DivergedError);
}

TEST_CASE("a sweep says why its suggestions are in doubt") {
  const std::vector<double> lrs{1e-4, 1e-3, 1e-2, 0.1, 1, 2, 3, 4, 5, 6};
  const auto found = [&](std::vector<double> losses, LrFindEnd ended) {
    LrFindResult result{.lrs = lrs, .losses = losses, .smoothed = losses, .ended = ended};
    result.suggestions = suggest_lrs(lrs, losses, 10);
    return result;
  };
  const std::vector<double> turned{9, 2, 2, 1.9, 1.5, 1, 2, 3, 4, 5};
  CHECK(found(turned, LrFindEnd::exploded).suggestions.fall == doctest::Approx(0.25));
  CHECK(found(turned, LrFindEnd::exploded).doubt().empty());
  CHECK(found(turned, LrFindEnd::not_finite).doubt().empty());
  CHECK(found(turned, LrFindEnd::interrupted).doubt() == "the sweep was interrupted");
  CHECK(found(turned, LrFindEnd::done).doubt().empty());  // it rose again
  CHECK(found({9, 2, 2, 1.9, 1.5, 1.4, 1.3, 1.2, 1.1, 1}, LrFindEnd::done).doubt() ==
        "the loss was still falling at the last rates");
  CHECK(found({9, 2, 2, 1.9, 1.5, 1.6, 1.6, 1.6, 1.6, 1.6}, LrFindEnd::done).doubt().empty());
  // The parts that the rules ignore, the first tenth and the end, do not count as a fall.
  CHECK(found({9, 2, 2, 1.99, 2, 2, 2, 2, 2, 2}, LrFindEnd::exploded).doubt().empty());
  CHECK(found({9, 2, 2, 1.99, 2, 2, 2, 2, 2, 2}, LrFindEnd::done).doubt() ==
        "the loss fell by at most 0.5 % before the last five updates");
  CHECK(found({9, 2, 2, 1.99, 2, 2, 2, 3, 4, 5}, LrFindEnd::done).doubt().empty());
  // Exploded before there was anything to look at, or without a fall.
  for (const LrFindEnd end : {LrFindEnd::exploded, LrFindEnd::not_finite}) {
    const LrFindResult early = found({2, 300}, end);
    CHECK_FALSE(early.suggestions.valley.has_value());
    CHECK(early.doubt() == "the loss fell by at most 0.0 % before the last five updates");
    CHECK_FALSE(found({2, 3, 4, 5, 6, 7, 8, 9, 9, 900}, end).doubt().empty());
  }
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  CHECK(
      found({9, 2, 2, 1.96, kNan, kNan, kNan, kNan, kNan, kNan}, LrFindEnd::done).doubt().empty());
  CHECK(found({2, 3, 4, 5, 6, 7, 8, 9, 9, 9}, LrFindEnd::done).doubt() ==
        "the loss fell by at most 0.0 % before the last five updates");
}

TEST_CASE("layer groups keep the ratio of their rates") {
  LearnerOptions options;
  options.lr = range(0.001F, 0.1F);
  Training t({2, 2}, {}, options, two_scales());
  t.learn.split({"second"});
  RateWatch& watch = t.learn.add<RateWatch>();
  const LrFindResult found = t.learn.lr_find({.start = 1e-3, .end = 1e-2, .iterations = 8});
  REQUIRE(watch.rates.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(static_cast<double>(watch.rates[i].second) == found.lrs[i]);
    CHECK(watch.rates[i].second / watch.rates[i].first == doctest::Approx(100));
  }
}

TEST_CASE("a sweep with impossible options is refused") {
  Training t({2, 2}, {});
  CHECK_THROWS_WITH_AS((void)t.learn.lr_find({.start = 1, .end = 0.5}),
                       doctest::Contains("rates from 1 to 0.5"),
                       UsageError);
  CHECK_THROWS_AS((void)t.learn.lr_find({.start = 0}), UsageError);
  for (const double end :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), 1e-7})
    CHECK_THROWS_AS((void)t.learn.lr_find({.end = end}), UsageError);
  CHECK_THROWS_AS((void)t.learn.lr_find({.start = std::numeric_limits<double>::quiet_NaN()}),
                  UsageError);
  try {
    (void)t.learn.lr_find({.start = 1, .end = 0.5});
  } catch (const UsageError& e) {  // what a user may say has no place in the sources
    CHECK(std::string(e.what()).starts_with("lr_find: rates"));
  }
  CHECK_THROWS_WITH_AS(
      (void)t.learn.lr_find({.iterations = 5}), doctest::Contains("6 are needed"), UsageError);
}

TEST_CASE("a sweep equals fastai's for the same weights and data") {
  for (const auto& golden : golden::kLrSweeps) {
    CAPTURE(golden.name);
    Training t({2, 2, 2, 2},
               {2},
               {.optimizer = golden.name == "sgd"
                                 ? optim::sgd({.momentum = 0.9F})
                                 : optim::adam({.beta1 = 0.9F, .beta2 = 0.99F, .eps = 1e-5F})});
    const LrFindResult found = t.learn.lr_find();
    REQUIRE(found.lrs.size() == golden.lrs.size());
    for (std::size_t i = 0; i < found.lrs.size(); ++i) {
      CAPTURE(i);
      CHECK(found.lrs[i] / golden.lrs[i] == doctest::Approx(1).epsilon(1e-6));
      // Roundings of f32 grow where the training diverges.
      CHECK(found.smoothed[i] / golden.losses[i] == doctest::Approx(1).epsilon(1e-4));
    }
    const auto named = found.suggestions.named();
    for (std::size_t i = 0; i < named.size(); ++i) {
      CAPTURE(named[i].first);
      REQUIRE(named[i].second.has_value());
      CHECK(*named[i].second / golden.suggested[i] == doctest::Approx(1).epsilon(1e-6));
    }
  }
}
