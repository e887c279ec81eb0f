#include "framework/autograd/ops.h"
#include "framework/optim/sgd.h"
#include "framework/tensor/factory.h"
#include "tests/learner/expected_trace.h"
#include "tests/learner/tiny_training.h"
#include "tests/learner/tracer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

using namespace tiny;

namespace {

/// State of the first of two training batches at its batch_end, after `action` at `event`.
struct Ended {
  Outcome outcome = Outcome::pending;
  bool held = false;
  std::vector<double> losses;  ///< of the pass: counted or not
};

Ended first_batch_after(Event event, const std::function<void(Learner&)>& action) {
  Training t({2}, {});
  t.learn.add<Once>(event, true, action);
  Ended ended;
  t.learn.add<Once>(Event::batch_end, true, [&](Learner& l) {
    ended.outcome = l.batch().outcome;
    ended.held = l.progress().gradients_held;
  });
  t.learn.fit(1, 0.1);
  if (!std::isnan(t.learn.results().train_loss)) ended.losses = {t.learn.results().train_loss};
  return ended;
}

}  // namespace

TEST_CASE("the strongest of several requests decides how a batch ends") {
  struct Case {
    Event event;
    void (*action)(Learner&);
    Outcome outcome;
    bool counted;  // in the mean loss
  };
  const auto nothing = [](Learner&) {};
  const auto skip = [](Learner& l) { l.skip_step(); };
  const auto defer = [](Learner& l) { l.defer_step(); };
  const auto defer_and_skip = [](Learner& l) { l.defer_step(), l.skip_step(); };
  const auto skip_and_defer = [](Learner& l) { l.skip_step(), l.defer_step(); };
  const auto cancel = [](Learner& l) { l.cancel(Scope::batch); };
  const auto skip_and_cancel = [](Learner& l) { l.skip_step(), l.cancel(Scope::epoch); };
  const auto cancel_step = [](Learner& l) { l.cancel(Scope::step); };
  const std::vector<Case> cases{
      {Event::batch_begin, nothing, Outcome::stepped, true},
      {Event::backward_begin, skip, Outcome::skipped, true},
      {Event::backward_end, skip, Outcome::skipped, true},
      {Event::step_begin, skip, Outcome::skipped, true},
      {Event::step_begin, cancel_step, Outcome::skipped, true},
      {Event::backward_begin, defer, Outcome::deferred, true},
      {Event::backward_begin, defer_and_skip, Outcome::skipped, true},
      {Event::backward_begin, skip_and_defer, Outcome::skipped, true},
      {Event::batch_begin, cancel, Outcome::cancelled, false},
      {Event::loss_begin, cancel, Outcome::cancelled, false},
      {Event::backward_end, cancel, Outcome::cancelled, false},
      {Event::backward_end, skip_and_cancel, Outcome::cancelled, false},
      {Event::step_begin, cancel, Outcome::cancelled, false},
      {Event::step_end, cancel, Outcome::stepped, true},  // too late: the update is made
  };
  for (const Case& c : cases) {
    CAPTURE(name_of(c.event));
    CAPTURE(static_cast<int>(c.outcome));
    const Ended ended = first_batch_after(c.event, c.action);
    CHECK(ended.outcome == c.outcome);
    CHECK(ended.held == (c.outcome == Outcome::deferred));
    CHECK(ended.losses.empty() == !c.counted);
  }
}

TEST_CASE("a batch is empty again when the next one comes, and after the fit") {
  Training t;
  std::vector<bool> empty;
  const auto look = [&](Learner& l) {
    const BatchRun& batch = l.batch();
    empty.push_back(!batch.pred.defined() && !batch.loss.defined() && !batch.seed.defined() &&
                    batch.outcome == Outcome::pending && batch.seed_set_by == nullptr &&
                    batch.unscaled_by == nullptr);
  };
  t.learn.add<Each>(Event::batch_begin, look);
  class Seed final : public Callback {
   public:
    [[nodiscard]] std::string_view name() const override { return "seed"; }
    void backward_begin(Learner& l) override {
      if (l.progress().batch_clock == 0) l.skip_step();
      l.set_seed(full(l.context().step(), {1}, DType::f32, 1));
    }
    void backward_end(Learner& l) override { l.grads_unscaled(); }
  };
  t.learn.add<Seed>();
  t.learn.fit(1, 0.1);
  look(t.learn);
  CHECK_FALSE(t.learn.batch().x.defined());
  CHECK(empty == std::vector<bool>{true, true, true, true});
}

TEST_CASE("a handler may replace a value only at its event") {
  const std::vector<std::pair<std::string, std::function<void(Learner&)>>> setters{
      {"set_x", [](Learner& l) { l.set_x(l.batch().x); }},
      {"set_y", [](Learner& l) { l.set_y(l.batch().y); }},
      {"set_pred", [](Learner& l) { l.set_pred(l.batch().pred); }},
      {"set_loss", [](Learner& l) { l.set_loss(l.batch().loss); }},
      {"set_seed",
       [](Learner& l) {
         l.set_seed(full(l.context().step(), {1}, DType::f32, 1));
         l.skip_step();  // without unscaling
       }},
      {"set_planned_steps", [](Learner& l) { l.set_planned_steps(1); }},
  };
  const std::vector<std::vector<Event>> allowed{{Event::batch_begin},
                                                {Event::batch_begin, Event::loss_begin},
                                                {Event::loss_begin},
                                                {Event::backward_begin},
                                                {Event::backward_begin},
                                                {Event::train_begin}};
  for (std::size_t i = 0; i < setters.size(); ++i) {
    const std::string& name = setters[i].first;
    const std::function<void(Learner&)>& set = setters[i].second;
    CAPTURE(name);
    for (const EventInfo& info : kEventTable) {
      CAPTURE(info.name);
      Training t;
      t.learn.add<Once>(info.event, true, set);
      const auto& right = allowed[i];
      if (std::find(right.begin(), right.end(), info.event) != right.end()) {
        CHECK_NOTHROW(t.learn.fit(1, 0.1));
      } else {
        const std::string text =
            "'once' at " + std::string(info.name) + ": " + name + " may be called only in ";
        CHECK_THROWS_WITH_AS(
            t.learn.fit(1, 0.1), doctest::Contains(text.c_str()), std::logic_error);
      }
    }
    Training t;
    CHECK_THROWS_WITH_AS(
        set(t.learn), doctest::Contains("outside of any handler"), std::logic_error);
  }
}

namespace {

/// A second layer that takes part in the first batch only.
class Now final : public nn::Module {
 public:
  explicit Now(const nn::Scope& scope)
      : Module(scope), always_(scope / "always"), once_(scope / "once", 0.7) {}
  [[nodiscard]] std::string describe() const override { return "Now"; }

 protected:
  [[nodiscard]] Var forward(const Var& x) override {
    const Var y = always_(x);
    return batches_++ == 0 ? once_(y) : y;
  }

 private:
  Scale always_, once_;
  int batches_ = 0;
};

}  // namespace

TEST_CASE("a parameter that takes no part in a batch has no gradient of an earlier one") {
  LearnerOptions options;
  options.optimizer = optim::sgd({.momentum = 0});
  Training t(
      {2, 2, 2}, {}, options, nn::make_model<Now>("now", {kFeatures}, static_cast<int>(kFeatures)));
  std::vector<std::vector<double>> weights;
  t.learn.add<Each>(Event::batch_end, [&](Learner& l) {
    weights.push_back(values(l.params().master(l.params().find("once.weight"))));
  });
  t.learn.fit(1, 0.1);
  REQUIRE(weights.size() == 3);
  CHECK(weights[0] != std::vector<double>(3, 0.7F));
  CHECK(weights[1] == weights[0]);
  CHECK(weights[2] == weights[0]);
}

TEST_CASE("training is true from the first batch of a training pass to its last") {
  for (const bool validates : {true, false}) {
    Training t({2, 2}, validates ? std::vector<std::int64_t>{2} : std::vector<std::int64_t>{});
    std::string at;
    for (const EventInfo& info : kEventTable)
      t.learn.add<Each>(info.event, [&at, event = info.event](Learner& l) {
        if (l.progress().training) at += mark_of(event) + " ";
      });
    t.learn.fit(2, 0.1);
    const std::string whole = expected_trace({.epochs = 1, .validation_batches = 0});
    const std::string_view begin = "T( E( ", end = ")E )T";
    const std::string epoch = whole.substr(begin.size(), whole.size() - begin.size() - end.size());
    CHECK(at == epoch + epoch);
  }
}

TEST_CASE("a loss that was replaced is recorded, and its gradient is what trains") {
  const auto fit = [](double factor) {
    Training t({2}, {});
    t.learn.add<Each>(Event::backward_begin,
                      [&](Learner& l) { l.set_loss(ops::scale(l.batch().loss, factor)); });
    t.learn.fit(1, 0.1);
    return std::pair(t.learn.results().train_loss, values(t.learn.params().flat_grad()));
  };
  const auto [loss, grads] = fit(1);
  const auto [doubled, doubled_grads] = fit(2);
  CHECK(doubled == 2 * loss);
  for (std::size_t i = 0; i < grads.size(); ++i) CHECK(doubled_grads[i] == 2 * grads[i]);
}
