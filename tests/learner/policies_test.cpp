#include "framework/optim/adam.h"
#include "framework/optim/rmsprop.h"
#include "framework/optim/sgd.h"
#include "tests/learner/tiny_training.h"

#include <doctest/doctest.h>

#include <set>

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

TEST_CASE("training and validation samples have one shape, the one their sources say") {
  Context ctx({.threads = 1});
  const auto make = [&](Shaped& train, Shaped& valid) {
    return std::make_unique<Learner>(
        ctx, Training::make_scale(), BatchSources(train, valid), Training::with_loss({}));
  };
  Shaped rows({3}, {2, 3});
  Shaped longer({4}, {2, 4});
  Shaped unknown({}, {2, 3});
  Shaped liar({3}, {2, 4});
  CHECK_THROWS_WITH_AS((void)make(rows, longer),
                       "training samples are (3), validation samples are (4): give both one shape",
                       DataError);
  make(rows, unknown)->validate();
  make(unknown, rows)->validate();
  CHECK_THROWS_WITH_AS(make(rows, liar)->validate(),
                       "the validation source says that its samples are (3), its batch has samples "
                       "(4)",
                       DataError);
  CHECK_THROWS_WITH_AS(
      make(liar, rows)->fit(1), doctest::Contains("the training source says"), DataError);
}
