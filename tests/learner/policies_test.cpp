#include "framework/learner/param_scheduler.h"
#include "framework/optim/adam.h"
#include "framework/optim/rmsprop.h"
#include "framework/optim/sgd.h"
#include "tests/learner/tiny_training.h"
#include "tests/learner/tracer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <set>
#include <vector>

using namespace tiny;

namespace {

/// The momenta that the batches of a one-cycle fit are trained with.
std::set<float> momenta(optim::OptimizerFactory optimizer) {
  /// Looks when schedules have been set.
  class Look final : public Callback {
   public:
    explicit Look(std::set<float>& seen) : seen_(seen) {}
    [[nodiscard]] std::string_view name() const override { return "look"; }
    void step_begin(Learner& l) override {
      for (int group = 0; group < l.params().groups(); ++group)
        seen_.insert(l.optimizer().hypers(group).momentum);
    }

   private:
    std::set<float>& seen_;
  };
  LearnerOptions options;
  options.optimizer = std::move(optimizer);
  Training t({1, 1, 1, 1}, {}, options);
  std::set<float> seen;
  t.learn.add<Look>(seen);
  t.learn.fit_one_cycle(1, 0.01);
  return seen;
}

/// Records a number at the start of each training batch.
class Watch final : public Callback {
 public:
  explicit Watch(std::function<double(Learner&)> what) : what_(std::move(what)) {}
  [[nodiscard]] std::string_view name() const override { return "watch"; }
  [[nodiscard]] int order() const override { return 100; }
  void batch_begin(Learner& l) override {
    if (l.progress().training) seen.push_back(what_(l));
  }
  std::vector<double> seen;

 private:
  std::function<double(Learner&)> what_;
};

}  // namespace

TEST_CASE("the one-cycle policy moves the momentum of an optimizer that has one") {
  CHECK(momenta(optim::sgd({.momentum = 0.9F})).size() == 4);
  CHECK(momenta(optim::adam({.beta1 = 0.9F})).size() == 4);
  CHECK(momenta(optim::rmsprop({.momentum = 0.5F})).size() == 4);
  const std::set<float> none{0};
  CHECK(momenta(optim::sgd({.momentum = 0})) == none);
  CHECK(momenta(optim::rmsprop({.momentum = 0})) == none);
  CHECK(momenta(optim::adam({.beta1 = 0})) == none);
}

TEST_CASE("a rate may be any number, and rates a list") {
  Training t;
  t.learn.fit(1, 0.1F);
  CHECK(t.learn.optimizer().lr(0) == 0.1F);
  t.learn.fit(1, 1);
  CHECK(t.learn.optimizer().lr(0) == 1);
  t.learn.fit(1, {0.25});
  CHECK(t.learn.optimizer().lr(0) == 0.25F);
}

namespace {

/// Says that its samples have a shape, which may be another than they have.
class Shaped final : public BatchSource {
 public:
  Shaped(Shape says, Shape is) : says_(says), is_(is) {}
  [[nodiscard]] std::int64_t batches() const override { return 1; }
  [[nodiscard]] std::int64_t samples() const override { return is_[0]; }
  [[nodiscard]] Shape sample_shape() const override { return says_; }
  void begin(std::int64_t) override { given_ = false; }
  [[nodiscard]] bool next(Batch& batch) override {
    if (given_) return false;
    batch.x = Tensor(arena_, is_, DType::f32);
    batch.y = Tensor(arena_, is_, DType::f32);
    return given_ = true;
  }

 private:
  Arena arena_{"shaped", cpu_pages()};
  Shape says_, is_;
  bool given_ = false;
};

}  // namespace

TEST_CASE("training and validation samples have one shape, which their sources declare") {
  Context ctx({.threads = 1});
  const auto make = [&](Shaped& train, Shaped& valid) {
    return std::make_unique<Learner>(
        ctx, Training::make_scale(), BatchSources(train, valid), Training::with_loss({}));
  };
  Shaped rows({3}, {2, 3});
  Shaped longer({4}, {2, 4});
  Shaped unknown({}, {2, 3});
  Shaped liar({3}, {2, 4});
  CHECK_THROWS_WITH_AS(
      (void)make(rows, longer),
      "training samples are (3), but validation samples are (4): both must have the same shape",
      DataError);
  make(rows, unknown)->validate();
  make(unknown, rows)->validate();
  CHECK_THROWS_WITH_AS(
      make(rows, liar)->validate(),
      "the validation source declares samples of (3), but its batch has samples of (4)",
      DataError);
  CHECK_THROWS_WITH_AS(
      make(liar, rows)->fit(1), doctest::Contains("the training source declares"), DataError);
}

TEST_CASE("one-cycle follows the published curve and leaves no trace") {
  Training t({1, 1, 1, 1}, {});
  const float momentum = t.learn.optimizer().hypers(0).momentum;
  const auto& lr = t.learn.add<Watch>([](Learner& l) { return l.optimizer().lr(0); });
  const auto& mom = t.learn.add<Watch>([](Learner& l) { return l.optimizer().hypers(0).momentum; });
  t.learn.fit_one_cycle(2, 0.5);
  REQUIRE(lr.seen.size() == 8);
  const auto cosine = [](double a, double b, double p) {
    return b + (a - b) / 2 * (1 + std::cos(std::acos(-1.0) * p));
  };
  for (std::size_t i = 0; i < 8; ++i) {
    const double p = static_cast<double>(i) / 8;
    const bool up = p < 0.25;
    const double part = up ? p / 0.25 : (p - 0.25) / 0.75;
    // The hyper-parameters are f32.
    CHECK(lr.seen[i] ==
          doctest::Approx(up ? cosine(0.02, 0.5, part) : cosine(0.5, 5e-6, part)).epsilon(1e-5));
    CHECK(mom.seen[i] ==
          doctest::Approx(up ? cosine(0.95, 0.85, part) : cosine(0.85, 0.95, part)).epsilon(1e-5));
  }
  CHECK(t.learn.optimizer().hypers(0).momentum == momentum);
  CHECK(t.learn.optimizer().lr(0) == 0.5F);
  CHECK(t.learn.find<ParamScheduler>() == nullptr);
}

TEST_CASE("a temporary schedule is removed when the fit throws or is refused") {
  Training t;
  const float momentum = t.learn.optimizer().hypers(0).momentum;
  t.learn.add<Once>(Event::step_end, true, [](Learner&) { throw IoError("disk full"); });
  CHECK_THROWS_AS(t.learn.fit_one_cycle(1, 0.5), IoError);
  CHECK(t.learn.find<ParamScheduler>() == nullptr);
  CHECK(t.learn.optimizer().hypers(0).momentum == momentum);
  CHECK_THROWS_AS(t.learn.fit_flat_cos(-1, 0.5), UsageError);
  CHECK(t.learn.find<ParamScheduler>() == nullptr);
  // A user's own schedule of the learning rate contradicts the policy, and both are named.
  t.learn.add<ParamScheduler>(
      std::vector{ScheduledHyper{Hyper::lr, {optim::schedules::constant(1)}}});
  CHECK_THROWS_WITH_AS(
      t.learn.fit_one_cycle(1, 0.5),
      "callbacks 'param_scheduler' and 'one_cycle' both set the lr: remove one of them",
      UsageError);
  t.learn.fit(1);  // the refused policy is gone
}

TEST_CASE("flat-cosine stays flat, then falls") {
  Training t({1, 1, 1, 1}, {});
  const auto& lr = t.learn.add<Watch>([](Learner& l) { return l.optimizer().lr(0); });
  t.learn.fit_flat_cos(1, 0.5, 1e5, 0.5);
  REQUIRE(lr.seen.size() == 4);
  CHECK(lr.seen[0] == 0.5);
  CHECK(lr.seen[1] == 0.5);
  CHECK(lr.seen[2] == 0.5);
  CHECK(lr.seen[3] == doctest::Approx(0.25 + 0.25e-5).epsilon(1e-5));  // half way down
}
