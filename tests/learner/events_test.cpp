#include "tests/learner/expected_trace.h"
#include "tests/learner/tiny_training.h"
#include "tests/learner/tracer.h"

#include <doctest/doctest.h>

#include <array>
#include <stdexcept>

using namespace tiny;

namespace {

constexpr std::array kScopes{
    Scope::train, Scope::epoch, Scope::batch, Scope::step, Scope::validate};

/// Every event of the loop, in training and where else it comes.
std::vector<Place> places() {
  std::vector<Place> all;
  for (const EventInfo& info : kEventTable)
    for (const bool training : {true, false})
      if (const Place place{info.event, training}; occurs(place)) all.push_back(place);
  return all;
}

/// The trace of two epochs in which `action` is done once at that place.
std::string trace_with(const Place& place,
                       const std::function<void(Learner&)>& action,
                       Tracing tracing = Tracing::after) {
  Training t;
  auto& tracer = t.learn.add<Tracer>(tracing == Tracing::after ? 1000 : -1000);
  const auto& once = t.learn.add<Once>(place.event, place.training, action);
  t.learn.fit(2, 0.1);
  CHECK(once.done);
  return tracer.trace;
}

}  // namespace

TEST_CASE("a fit emits the events of the loop in order") {
  Training t;
  auto& tracer = t.learn.add<Tracer>();
  t.learn.fit(2, 0.1);
  CHECK(tracer.trace == expected_trace());
  CHECK(t.learn.progress().batch_clock == 4);
  CHECK(t.learn.progress().step_clock == 4);
  CHECK(t.learn.progress().epoch_clock == 2);
  CHECK(t.learn.progress().activity == Activity::none);
}

TEST_CASE("every event of the table is somewhere in the loop") {
  for (const EventInfo& info : kEventTable) {
    CAPTURE(info.name);
    CHECK(occurs({info.event}));
  }
}

TEST_CASE("without a validation source an epoch has no validation pass") {
  Training t({2}, {});
  auto& tracer = t.learn.add<Tracer>();
  t.learn.fit(1, 0.1);
  CHECK(tracer.trace == expected_trace({.epochs = 1, .batches = 1, .validation_batches = 0}));
}

TEST_CASE("a fit of no epochs opens and closes") {
  Training t;
  auto& tracer = t.learn.add<Tracer>();
  t.learn.fit(0, 0.1);
  CHECK(tracer.trace == "T( )T");
}

TEST_CASE("validate alone emits a validation pass") {
  Training t;
  auto& tracer = t.learn.add<Tracer>();
  t.learn.validate();
  CHECK(tracer.trace == expected_validation());
}

TEST_CASE("each scope that is open can be cancelled at each event") {
  for (const Place& place : places())
    for (const Scope scope : kScopes) {
      if (!is_open(scope, place)) continue;
      CAPTURE(name_of(place.event));
      CAPTURE(place.training);
      CAPTURE(name_of(scope));
      const auto cancel = [scope](Learner& l) { l.cancel(scope); };
      for (const Tracing tracing : {Tracing::before, Tracing::after})
        CHECK(trace_with(place, cancel, tracing) == expected_trace(place, scope, tracing));
    }
}

TEST_CASE("the outermost of several cancels wins") {
  const auto both = [](Learner& l) {
    l.cancel(Scope::train);
    l.cancel(Scope::batch);
  };
  CHECK(trace_with({Event::batch_begin}, both) == "T( E( B( )B )E !train )T");
}

TEST_CASE("an end event may cancel a scope further out") {
  // The batch is cancelled from inside, and its end cancels the epoch.
  Training t;
  auto& tracer = t.learn.add<Tracer>();
  t.learn.add<Once>(Event::batch_begin, true, [](Learner& l) { l.cancel(Scope::batch); });
  t.learn.add<Once>(Event::batch_end, true, [](Learner& l) { l.cancel(Scope::epoch); });
  t.learn.fit(1, 0.1);
  CHECK(tracer.trace == "T( E( B( !batch )B !epoch )E )T");
}

TEST_CASE("cancelling a scope that is not open is a logic error that names the callback") {
  for (const Place& place : places())
    for (const Scope scope : kScopes) {
      if (is_open(scope, place)) continue;
      CAPTURE(name_of(place.event));
      CAPTURE(place.training);
      CAPTURE(name_of(scope));
      Training t;
      t.learn.add<Once>(place.event, place.training, [scope](Learner& l) { l.cancel(scope); });
      CHECK_THROWS_WITH_AS(t.learn.fit(1, 0.1), doctest::Contains("'once'"), std::logic_error);
    }
  Training t;
  CHECK_THROWS_AS(t.learn.cancel(Scope::train), std::logic_error);
}

TEST_CASE("skipping the step from each event that may") {
  const auto skip = [](Learner& l) { l.skip_step(); };
  for (const Place& place : places()) {
    CAPTURE(name_of(place.event));
    CAPTURE(place.training);
    if (place.event == Event::backward_begin || place.event == Event::backward_end)
      CHECK(trace_with(place, skip) == expected_trace_without_first_step());
    else if (place.event == Event::step_begin)
      CHECK(trace_with(place, skip) == expected_trace(place, Scope::step));
    else
      CHECK_THROWS_AS(trace_with(place, skip), std::logic_error);
  }
}

TEST_CASE("an error emits nothing but error, and the learner can be used again") {
  for (const EventInfo& info : kEventTable) {
    CAPTURE(info.name);
    Training t;
    auto& tracer = t.learn.add<Tracer>();
    t.learn.add<Once>(info.event, true, [](Learner&) { throw IoError("disk full"); });
    CHECK_THROWS_WITH_AS(t.learn.fit(1, 0.1), "disk full", IoError);
    CHECK(tracer.trace.ends_with("#disk full"));
    CHECK(tracer.trace.find(mark_of(info.event) + " #") ==
          std::string::npos);  // the tracer comes later
    CHECK(t.learn.progress().activity == Activity::none);
    tracer.trace.clear();
    t.learn.fit(1, 0.1);
    CHECK(tracer.trace == expected_trace({.epochs = 1}));
  }
}

TEST_CASE("an error handler that throws does not hide the first error") {
  class Bad final : public Callback {
   public:
    [[nodiscard]] std::string_view name() const override { return "bad"; }
    void batch_begin(Learner&) override { throw DataError("first"); }
    void error(Learner&, const std::exception&) override { throw IoError("second"); }
  };
  Training t;
  t.learn.add<Bad>();
  CHECK_THROWS_WITH_AS(t.learn.fit(1, 0.1), "first", DataError);
}

TEST_CASE("an exception that is not a std::exception is reported as well") {
  Training t;
  auto& tracer = t.learn.add<Tracer>();
  t.learn.add<Once>(Event::batch_begin, true, [](Learner&) { throw 7; });
  CHECK_THROWS_AS(t.learn.fit(1, 0.1), int);
  CHECK(tracer.trace.find("#an exception that is not a std::exception") != std::string::npos);
}

TEST_CASE("the learner cannot be driven or rebuilt from a handler") {
  const std::vector<std::function<void(Learner&)>> actions{
      [](Learner& l) { l.fit(1); },
      [](Learner& l) { l.fit_one_cycle(1, 0.1); },
      [](Learner& l) { l.validate(); },
      [](Learner& l) { (void)l.get_preds(l.train_source()); },
      [](Learner& l) { l.add<Tracer>(); },
      [](Learner& l) { l.remove(*l.find<Once>()); },
      [](Learner& l) { l.split({}); },
      [](Learner& l) { l.freeze(); }};
  for (std::size_t i = 0; i < actions.size(); ++i) {
    CAPTURE(i);
    Training t;
    t.learn.add<Once>(Event::batch_end, true, actions[i]);
    CHECK_THROWS_WITH_AS(
        t.learn.fit(1, 0.1), doctest::Contains("'once' at batch_end"), std::logic_error);
  }
}
