// Frozen BatchNorm layers keep and use their statistics; the others update theirs.
#include "callbacks/freezing/bn_freeze.h"

#include "callbacks/lambda.h"
#include "callbacks/registry.h"
#include "framework/nn/layers.h"
#include "tests/learner/tiny_training.h"
#include "tests/support/log_file.h"

#include <doctest/doctest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

using namespace tiny;
using namespace learn::callbacks;

namespace {

/// A body and a head with a BatchNorm layer each.
class TwoNorms final : public nn::Module {
 public:
  explicit TwoNorms(const nn::Scope& scope)
      : Module(scope),
        body_(scope / "body", kFeatures, 8),
        body_norm_(scope / "body_norm", 8),
        head_(scope / "head", 8, kFeatures),
        head_norm_(scope / "head_norm", kFeatures) {}
  [[nodiscard]] std::string describe() const override { return "TwoNorms"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override {
    return head_norm_(head_(body_norm_(body_(x))));
  }

 private:
  nn::Linear body_;
  nn::BatchNorm1d body_norm_;
  nn::Linear head_;
  nn::BatchNorm1d head_norm_;
};

/// Has trained an epoch as a whole, so that its statistics are those of data.
struct TwoGroups : Training {
  TwoGroups()
      : Training(
            {4, 4, 3}, {4}, {}, nn::make_model<TwoNorms>("two_norms", {kFeatures}, kFeatures)) {
    learn.split({"head"});
    learn.fit(1, 0.05);
  }
};

using Buffers = std::map<std::string, std::vector<double>>;

Buffers statistics(Learner& learn) {
  Buffers all;
  for (std::int64_t i = 0; i < learn.params().buffer_count(); ++i)
    all[learn.params().buffer(i).name] = values(learn.params().buffer(i).value);
  return all;
}

}  // namespace

TEST_CASE(
    "statistics of frozen BatchNorm layers keep their bits, and those of trained layers change") {
  struct Case {
    bool callback, freeze, train_bn;
    bool body_moves;
  };
  for (const Case& c : {Case{false, true, false, true},
                        Case{true, true, false, false},
                        Case{true, true, true, true},  // its weight is trained: it is not frozen
                        Case{true, false, false, true}}) {
    CAPTURE(c.callback);
    CAPTURE(c.freeze);
    CAPTURE(c.train_bn);
    TwoGroups t;
    if (c.freeze) t.learn.freeze(c.train_bn);
    if (c.callback) t.learn.add<BnFreeze>();
    const Buffers before = statistics(t.learn);
    t.learn.fit(2, 0.05);
    const Buffers after = statistics(t.learn);
    for (const char* const which : {"running_mean", "running_var"}) {
      const std::string body = std::string("body_norm.") + which;
      const std::string head = std::string("head_norm.") + which;
      CHECK((after.at(body) != before.at(body)) == c.body_moves);
      CHECK(after.at(head) != before.at(head));
    }
  }
}

TEST_CASE("a frozen BatchNorm layer normalizes training batches as validation does") {
  // A body that is frozen as a whole then makes of a training batch what it makes in evaluation.
  TwoGroups t;
  t.learn.freeze(false);
  t.learn.add<BnFreeze>();
  /// Keeps the output of one layer.
  class Keeps final : public ForwardObserver {
   public:
    void forwarded(const nn::Module& module, const Var&, const Var& out) override {
      if (module.path() == "body_norm") kept = values(out.value());
    }
    std::vector<double> kept;
  };
  Keeps keeps;
  t.learn.tape().observe(&keeps);
  on(t.learn, Event::loss_begin, [&](Learner& l) {
    if (!l.progress().training) return;
    const std::vector<double> trained_with = std::exchange(keeps.kept, {});
    Tape evaluation(l.context(), {.mode = ForwardMode::eval, .grad = false});
    evaluation.observe(&keeps);
    (void)l.model()(evaluation.input(l.batch().x));
    CHECK(keeps.kept == trained_with);
    CHECK(l.tape().mode() == ForwardMode::train_unfrozen);
  });
  t.learn.fit(1, 0.05);
  t.learn.tape().observe(nullptr);
}

TEST_CASE("the mode of training comes back when the fit is over, by an error too") {
  TwoGroups t;
  t.learn.freeze(false);
  t.learn.add<BnFreeze>();
  auto& throws = on(t.learn, Event::backward_end, [](Learner& l) {
    CHECK(l.training_mode() == ForwardMode::train_unfrozen);
    throw std::runtime_error("broken");
  });
  CHECK_THROWS_WITH(t.learn.fit(1, 0.05), "broken");
  CHECK(t.learn.training_mode() == ForwardMode::train);
  t.learn.remove(throws);
  t.learn.fit(1, 0.05);
  CHECK(t.learn.training_mode() == ForwardMode::train);
  CHECK_THROWS_WITH_AS(t.learn.set_training_mode(ForwardMode::eval),
                       doctest::Contains("training in eval mode"),
                       UsageError);
}

TEST_CASE("a change of the mode of training drops captured steps") {
  TwoGroups t;
  const std::vector<double> before = t.learn.captured_options();
  t.learn.set_training_mode(ForwardMode::train_unfrozen);
  const std::vector<double> during = t.learn.captured_options();
  CHECK(during != before);
  t.learn.set_training_mode(ForwardMode::train);
  CHECK(t.learn.captured_options() != during);
}

TEST_CASE("bn_freeze without frozen layers warns that it changes nothing, and how to freeze") {
  const auto warned = [](bool freeze) {
    TwoGroups t;
    if (freeze) t.learn.freeze(false);
    add_from_text(t.learn, "bn_freeze");
    const test::LogFile log;
    t.learn.fit(1, 0.05);
    return log.text().find("[bn_freeze] no BatchNorm layer is frozen") != std::string::npos &&
           log.text().find("train_bn = false") != std::string::npos;
  };
  CHECK(warned(false));
  CHECK_FALSE(warned(true));
}
