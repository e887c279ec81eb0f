// Callbacks of one fit: there for its time, wherever it ends, and gone with what they made.
#include "framework/learner/param_scheduler.h"
#include "tests/learner/expected_trace.h"
#include "tests/learner/tiny_training.h"
#include "tests/learner/tracer.h"
#include "tests/support/memory_state.h"

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace tiny;

namespace {

const std::string kFit = expected_trace({.epochs = 1});

/// Claims what is to be claimed, and keeps something in the store.
class Claims final : public Callback {
 public:
  explicit Claims(std::string claim, bool fails = false)
      : claim_(std::move(claim)), fails_(fails) {}
  [[nodiscard]] std::string_view name() const override { return claim_; }
  [[nodiscard]] std::vector<std::string> claims() const override { return {claim_}; }
  void attached(Learner& l) override {
    (void)l.params().state(claim_);
    if (fails_) throw std::runtime_error("cannot be attached");
  }
  void train_begin(Learner& l) override {
    ++begun;
    (void)l.params().state("of a handler");
  }
  int begun = 0;

 private:
  std::string claim_;
  bool fails_;
};

std::vector<std::string> state_names(Learner& learn) {
  std::vector<std::string> names;
  for (const auto& [name, state] : learn.params().states()) names.push_back(name);
  return names;
}

/// A sum of losses that decides the learning rate: what is not restored changes the weights.
class Counts final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "counts"; }
  void visit_state(StateVisitor& visitor) override { visitor.visit("batches", batches, {}); }
  void attached(Learner& l) override { (void)l.params().state("sum"); }
  void step_begin(Learner& l) override {
    Tensor& sum = l.params().state("sum");
    float* const sums = sum.data<float>();
    float* const grads = l.grads().flat_grad().data<float>();
    ++batches;
    for (std::int64_t i = 0; i < sum.elements(); ++i) {
      sums[i] += grads[i];
      grads[i] += sums[i] * static_cast<float>(batches);
    }
  }
  std::int64_t batches = 0;
};

}  // namespace

TEST_CASE("callbacks of one fit receive only the events of that fit") {
  Training t;
  const auto& always = t.learn.add<Tracer>();
  const auto once = std::make_shared<Tracer>();
  t.learn.fit(1, 0.1, {once});
  CHECK(once->trace == kFit);
  t.learn.fit(1, 0.1);
  t.learn.validate();
  CHECK(once->trace == kFit);
  CHECK(always.trace == kFit + " " + kFit + " " + expected_validation());
  CHECK(t.learn.find<Tracer>() == &always);
  t.learn.fit(1, 0.1, {once});  // it can be given to another
  CHECK(once->trace == kFit + " " + kFit);
}

TEST_CASE("the two policies accept callbacks in addition to their schedule") {
  Training t;
  const auto once = std::make_shared<Tracer>();
  t.learn.fit_one_cycle(1, 0.1, {}, {once});
  CHECK(once->trace == kFit);
  t.learn.fit_flat_cos(1, 0.1, 1e5, 0.75, {once});
  CHECK(once->trace == kFit + " " + kFit);
  CHECK(t.learn.callbacks().listeners(Event::batch_begin).empty());
  const auto other = std::make_shared<ParamScheduler>(
      std::vector{ScheduledHyper{Hyper::lr, {optim::schedules::constant(1)}}},
      Clock::batch,
      "mine");
  CHECK_THROWS_WITH_AS(t.learn.fit_one_cycle(1, 0.1, {}, {other}),
                       "callbacks 'mine' and 'one_cycle' both set the lr: remove one of them",
                       UsageError);
}

TEST_CASE("with equal order, callbacks of a fit run after the learner's own") {
  /// Notes its name.
  class Says final : public Callback {
   public:
    Says(std::string& said, std::string what) : said_(said), what_(std::move(what)) {}
    [[nodiscard]] std::string_view name() const override { return what_; }
    void train_begin(Learner&) override { said_ += what_; }

   private:
    std::string& said_;
    std::string what_;
  };
  Training t({2}, {});
  std::string said;
  t.learn.add<Says>(said, "own ");
  t.learn.fit(
      1, 0.1, {std::make_shared<Says>(said, "first "), std::make_shared<Says>(said, "second ")});
  CHECK(said == "own first second ");
}

TEST_CASE("after an error the callbacks of the fit are gone, and it can be made again") {
  Training t;
  const auto once = std::make_shared<Tracer>();
  const auto throws = std::make_shared<Once>(
      Event::backward_end, true, [](Learner&) { throw std::runtime_error("broken"); });
  CHECK_THROWS_WITH(t.learn.fit(1, 0.1, {once, throws}), "broken");
  CHECK(once->trace == "T( E( B( l b #broken");
  CHECK(t.learn.find<Tracer>() == nullptr);
  once->trace.clear();
  t.learn.fit(1, 0.1, {once, throws});
  CHECK(once->trace == kFit);
}

TEST_CASE("a cancelled fit removes its callbacks too") {
  Training t;
  const auto once = std::make_shared<Tracer>();
  t.learn.fit(1, 0.1, {once, std::make_shared<Once>(Event::epoch_begin, true, [](Learner& l) {
                         l.cancel(Scope::train);
                       })});
  CHECK(once->trace == "T( E( )E !train )T");
  CHECK(t.learn.find<Once>() == nullptr);
}

TEST_CASE("if one callback of a fit is refused, the learner is unchanged") {
  Training t;
  const auto& own = t.learn.add<Claims>("own");
  const float lr = t.learn.optimizer().lr(0);
  const std::vector<std::string> states = state_names(t.learn);
  const auto fine = std::make_shared<Claims>("fine");
  const auto refused = std::make_shared<Claims>("own");
  CHECK_THROWS_WITH_AS(t.learn.fit(1, 0.7, {fine, refused}),
                       "callbacks 'own' and 'own' both own: remove one of them",
                       UsageError);
  const auto fails = std::make_shared<Claims>("fails", true);
  CHECK_THROWS_WITH(t.learn.fit(1, 0.7, {fine, fails}), "cannot be attached");
  CHECK_THROWS_WITH_AS(t.learn.fit(1, 0.7, {fine, fine}),
                       "callback 'fine' was added twice: create a second object",
                       UsageError);
  CHECK_THROWS_WITH_AS(t.learn.fit(1, 0.7, {fine, std::shared_ptr<Claims>()}),
                       doctest::Contains("a null callback was added"),
                       UsageError);
  CHECK_THROWS_AS(t.learn.fit(1, -0.7, {fine}), UsageError);
  CHECK(t.learn.callbacks().listeners(Event::train_begin) == std::vector<const Callback*>{&own});
  CHECK(state_names(t.learn) == states);
  CHECK(t.learn.optimizer().lr(0) == lr);
  CHECK(fine->begun == 0);
}

TEST_CASE("values of a fit's callback in the store are removed with it, and other values stay") {
  Training t;
  t.learn.add<Claims>("own");
  t.learn.fit(1, 0.1, {std::make_shared<Claims>("theirs")});
  CHECK(state_names(t.learn) == std::vector<std::string>{"momentum_buffer", "of a handler", "own"});
}

TEST_CASE("a fit with its own callbacks resumes when they are given again") {
  const auto stop_after = [](std::int64_t batches) {
    return std::make_shared<Each>(Event::batch_end, [batches](Learner& l) {
      if (l.progress().batch_clock == batches) l.cancel(Scope::train);
    });
  };
  Training whole({2, 2, 2}, {});
  whole.learn.fit_one_cycle(2, 0.01, {}, {std::make_shared<Counts>(), stop_after(-1)});
  for (const std::int64_t stop : {1, 2, 3, 4, 5}) {
    CAPTURE(stop);
    test::MemoryState state;
    test::MemorySaver saver(state);
    Training first({2, 2, 2}, {});
    const auto saves = std::make_shared<Each>(Event::batch_end, [&](Learner& l) {
      if (l.progress().batch_clock == stop) l.visit_state(saver);
    });
    first.learn.fit_one_cycle(2, 0.01, {}, {std::make_shared<Counts>(), stop_after(stop), saves});
    CHECK(state.integers.at("callbacks.counts.batches") == stop);

    Training second({2, 2, 2}, {});
    const FitCallbacks again{std::make_shared<Counts>(), stop_after(-1)};
    test::MemoryLoader loader(state);
    second.learn.visit_state(loader, again);
    CHECK(second.learn.find<Counts>() == nullptr);
    second.learn.resume();
    second.learn.fit_one_cycle(2, 0.01, {}, again);
    CHECK(second.learn.progress().batch_clock == 6);
    CHECK(values(second.learn.params().flat_master()) ==
          values(whole.learn.params().flat_master()));
    CHECK(state_names(second.learn) == state_names(whole.learn));
  }
}

TEST_CASE("saving with callbacks of a fit leaves no trace of them, and is refused in handlers") {
  Training t;
  const FitCallbacks callbacks{std::make_shared<Counts>()};
  test::MemoryState state;
  test::MemorySaver saver(state);
  t.learn.visit_state(saver, callbacks);
  CHECK(state.tensors.contains("model.sum.weight"));
  CHECK(state_names(t.learn) == std::vector<std::string>{"momentum_buffer"});
  auto& asks = t.learn.add<Once>(
      Event::batch_end, true, [&](Learner& l) { l.visit_state(saver, callbacks); });
  CHECK_THROWS_WITH_AS(t.learn.fit(1, 0.1), doctest::Contains("visit_state"), std::logic_error);
  t.learn.remove(asks);
}
