#include "tests/learner/tiny_training.h"
#include "tests/learner/tracer.h"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace tiny;

namespace {

// What an undisturbed training batch, validation pass and epoch of two batches look like.
const std::string kBatch = "B( l b d S( )S )B";
const std::string kValidation = "V( B( l )B )V";
const std::string kEpoch = "E( " + kBatch + " " + kBatch + " " + kValidation + " )E";

/// The trace of two epochs in which `action` is done once at `event`.
std::string trace_with(Event event, bool training, const std::function<void(Learner&)>& action) {
  Training t;
  auto& tracer = t.learn.add<Tracer>();
  const auto& once = t.learn.add<Once>(event, training, action);
  t.learn.fit(2, 0.1);
  CHECK(once.done);
  return tracer.trace;
}

struct Case {
  Event event;
  Scope scope;
  std::string expected;
  bool training = true;
};

void check_cancels(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    CAPTURE(name_of(c.event));
    CAPTURE(name_of(c.scope));
    CHECK(trace_with(c.event, c.training, [&](Learner& l) { l.cancel(c.scope); }) == c.expected);
  }
}

/// The first training batch of the run ended as given, all else is normal.
std::string first_batch(const std::string& batch) {
  return "T( E( " + batch + " " + kBatch + " " + kValidation + " )E " + kEpoch + " )T";
}
/// The first epoch of the run ended as given.
std::string first_epoch(const std::string& epoch) { return "T( " + epoch + " " + kEpoch + " )T"; }
/// The first validation pass ended as given.
std::string first_validation(const std::string& validation) {
  return first_epoch("E( " + kBatch + " " + kBatch + " " + validation + " )E");
}

}  // namespace

TEST_CASE("a fit emits the events of the loop in order") {
  Training t;
  auto& tracer = t.learn.add<Tracer>();
  t.learn.fit(2, 0.1);
  CHECK(tracer.trace == "T( " + kEpoch + " " + kEpoch + " )T");
  CHECK(t.learn.progress().batch_clock == 4);
  CHECK(t.learn.progress().step_clock == 4);
  CHECK(t.learn.progress().epoch_clock == 2);
  CHECK(t.learn.progress().activity == Activity::none);
}

TEST_CASE("without a validation source an epoch has no validation pass") {
  Training t({2}, {});
  auto& tracer = t.learn.add<Tracer>();
  t.learn.fit(1, 0.1);
  CHECK(tracer.trace == "T( E( " + kBatch + " )E )T");
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
  CHECK(tracer.trace == kValidation);
}

TEST_CASE("cancelling the batch from each of its events") {
  check_cancels({
      {Event::batch_begin, Scope::batch, first_batch("B( !batch )B")},
      {Event::loss_begin, Scope::batch, first_batch("B( !batch )B")},
      {Event::backward_begin, Scope::batch, first_batch("B( l !batch )B")},
      {Event::backward_end, Scope::batch, first_batch("B( l b !batch )B")},
      {Event::step_begin, Scope::batch, first_batch("B( l b d S( )S !batch )B")},
      {Event::step_end, Scope::batch, first_batch("B( l b d S( )S !batch )B")},
      {Event::batch_end, Scope::batch, first_batch(kBatch)},
  });
}

TEST_CASE("cancelling the step") {
  check_cancels({
      {Event::step_begin, Scope::step, first_batch("B( l b d S( !step )S )B")},
      {Event::step_end, Scope::step, first_batch(kBatch)},
  });
}

TEST_CASE("cancelling the epoch from each event inside it") {
  check_cancels({
      {Event::epoch_begin, Scope::epoch, first_epoch("E( !epoch )E")},
      {Event::batch_begin, Scope::epoch, first_epoch("E( B( )B !epoch )E")},
      {Event::loss_begin, Scope::epoch, first_epoch("E( B( )B !epoch )E")},
      {Event::backward_begin, Scope::epoch, first_epoch("E( B( l )B !epoch )E")},
      {Event::backward_end, Scope::epoch, first_epoch("E( B( l b )B !epoch )E")},
      {Event::step_begin, Scope::epoch, first_epoch("E( B( l b d S( )S )B !epoch )E")},
      {Event::step_end, Scope::epoch, first_epoch("E( B( l b d S( )S )B !epoch )E")},
      {Event::batch_end, Scope::epoch, first_epoch("E( " + kBatch + " !epoch )E")},
      {Event::validate_begin,
       Scope::epoch,
       first_epoch("E( " + kBatch + " " + kBatch + " V( )V !epoch )E")},
      {Event::batch_begin,
       Scope::epoch,
       first_epoch("E( " + kBatch + " " + kBatch + " V( B( )B )V !epoch )E"),
       false},
      {Event::loss_begin,
       Scope::epoch,
       first_epoch("E( " + kBatch + " " + kBatch + " V( B( )B )V !epoch )E"),
       false},
      {Event::batch_end,
       Scope::epoch,
       first_epoch("E( " + kBatch + " " + kBatch + " V( B( l )B )V !epoch )E"),
       false},
      {Event::validate_end,
       Scope::epoch,
       first_epoch("E( " + kBatch + " " + kBatch + " " + kValidation + " !epoch )E")},
      {Event::epoch_end, Scope::epoch, first_epoch(kEpoch)},
  });
}

TEST_CASE("cancelling the training from each event") {
  const std::string two = kBatch + " " + kBatch;
  check_cancels({
      {Event::train_begin, Scope::train, "T( !train )T"},
      {Event::epoch_begin, Scope::train, "T( E( )E !train )T"},
      {Event::batch_begin, Scope::train, "T( E( B( )B )E !train )T"},
      {Event::loss_begin, Scope::train, "T( E( B( )B )E !train )T"},
      {Event::backward_begin, Scope::train, "T( E( B( l )B )E !train )T"},
      {Event::backward_end, Scope::train, "T( E( B( l b )B )E !train )T"},
      {Event::step_begin, Scope::train, "T( E( B( l b d S( )S )B )E !train )T"},
      {Event::step_end, Scope::train, "T( E( B( l b d S( )S )B )E !train )T"},
      {Event::batch_end, Scope::train, "T( E( " + kBatch + " )E !train )T"},
      {Event::validate_begin, Scope::train, "T( E( " + two + " V( )V )E !train )T"},
      {Event::batch_begin, Scope::train, "T( E( " + two + " V( B( )B )V )E !train )T", false},
      {Event::loss_begin, Scope::train, "T( E( " + two + " V( B( )B )V )E !train )T", false},
      {Event::batch_end, Scope::train, "T( E( " + two + " V( B( l )B )V )E !train )T", false},
      {Event::validate_end, Scope::train, "T( E( " + two + " " + kValidation + " )E !train )T"},
      {Event::epoch_end, Scope::train, "T( " + kEpoch + " !train )T"},
      {Event::train_end, Scope::train, "T( " + kEpoch + " " + kEpoch + " )T"},
  });
}

TEST_CASE("cancelling the validation and its batches") {
  check_cancels({
      {Event::validate_begin, Scope::validate, first_validation("V( !validate )V")},
      {Event::batch_begin, Scope::validate, first_validation("V( B( )B !validate )V"), false},
      {Event::loss_begin, Scope::validate, first_validation("V( B( )B !validate )V"), false},
      {Event::batch_end, Scope::validate, first_validation("V( B( l )B !validate )V"), false},
      {Event::validate_end, Scope::validate, first_validation(kValidation)},
      {Event::batch_begin, Scope::batch, first_validation("V( B( !batch )B )V"), false},
      {Event::loss_begin, Scope::batch, first_validation("V( B( !batch )B )V"), false},
      {Event::batch_end, Scope::batch, first_validation(kValidation), false},
  });
}

TEST_CASE("the outermost of several cancels wins") {
  const auto both = [](Learner& l) {
    l.cancel(Scope::train);
    l.cancel(Scope::batch);
  };
  CHECK(trace_with(Event::loss_begin, true, both) == "T( E( B( )B )E !train )T");
}

TEST_CASE("an end event may cancel a scope further out") {
  // The batch is cancelled from inside, and its end cancels the epoch.
  Training t;
  auto& tracer = t.learn.add<Tracer>();
  t.learn.add<Once>(Event::loss_begin, true, [](Learner& l) { l.cancel(Scope::batch); });
  t.learn.add<Once>(Event::batch_end, true, [](Learner& l) { l.cancel(Scope::epoch); });
  t.learn.fit(2, 0.1);
  CHECK(tracer.trace == first_epoch("E( B( !batch )B !epoch )E"));
}

TEST_CASE("cancelling a scope that is not open is a logic error that names the callback") {
  const std::vector<std::pair<Event, std::vector<Scope>>> closed{
      {Event::train_begin, {Scope::epoch, Scope::batch, Scope::step, Scope::validate}},
      {Event::epoch_begin, {Scope::batch, Scope::step, Scope::validate}},
      {Event::batch_begin, {Scope::step, Scope::validate}},
      {Event::loss_begin, {Scope::step, Scope::validate}},
      {Event::backward_begin, {Scope::step, Scope::validate}},
      {Event::backward_end, {Scope::step, Scope::validate}},
      {Event::step_begin, {Scope::validate}},
      {Event::step_end, {Scope::validate}},
      {Event::batch_end, {Scope::step, Scope::validate}},
      {Event::validate_begin, {Scope::batch, Scope::step}},
      {Event::validate_end, {Scope::batch, Scope::step}},
      {Event::epoch_end, {Scope::batch, Scope::step, Scope::validate}},
      {Event::train_end, {Scope::epoch, Scope::batch, Scope::step, Scope::validate}},
  };
  for (const auto& [event, scopes] : closed) {
    for (const Scope scope : scopes) {
      const Event at = event;  // clang captures no binding
      CAPTURE(name_of(at));
      CAPTURE(name_of(scope));
      Training t;
      t.learn.add<Once>(event, true, [s = scope](Learner& l) { l.cancel(s); });
      CHECK_THROWS_WITH_AS(t.learn.fit(1, 0.1), doctest::Contains("'once'"), std::logic_error);
    }
  }
  Training t;
  CHECK_THROWS_AS(t.learn.cancel(Scope::train), std::logic_error);
}

TEST_CASE("skipping the step from each event that may") {
  const auto skip = [](Learner& l) { l.skip_step(); };
  CHECK(trace_with(Event::backward_begin, true, skip) == first_batch("B( l b d )B"));
  CHECK(trace_with(Event::backward_end, true, skip) == first_batch("B( l b d )B"));
  CHECK(trace_with(Event::step_begin, true, skip) == first_batch("B( l b d S( !step )S )B"));
  for (const Event event : {Event::train_begin,
                            Event::batch_begin,
                            Event::loss_begin,
                            Event::step_end,
                            Event::batch_end,
                            Event::validate_begin}) {
    CAPTURE(name_of(event));
    CHECK_THROWS_AS(trace_with(event, true, skip), std::logic_error);
  }
}

TEST_CASE("brackets reach everyone, events inside a batch stop at the one who cancels") {
  const auto heard = [](Event event, Scope scope) {
    Training t({2}, {});
    auto& tracer = t.learn.add<Tracer>();
    t.learn.add<Once>(event, true, [=](Learner& l) { l.cancel(scope); });
    t.learn.fit(1, 0.1);
    return tracer.trace;
  };
  CHECK(heard(Event::step_begin, Scope::step) == "T( E( B( l b d S( !step )S )B )E )T");
  CHECK(heard(Event::backward_end, Scope::batch) == "T( E( B( l b !batch )B )E )T");
}

TEST_CASE("an error emits nothing but error, and the learner can be used again") {
  const std::vector<Event> all{Event::train_begin,
                               Event::epoch_begin,
                               Event::batch_begin,
                               Event::loss_begin,
                               Event::backward_begin,
                               Event::backward_end,
                               Event::step_begin,
                               Event::step_end,
                               Event::batch_end,
                               Event::validate_begin,
                               Event::validate_end,
                               Event::epoch_end,
                               Event::train_end};
  for (const Event event : all) {
    CAPTURE(name_of(event));
    Training t;
    auto& tracer = t.learn.add<Tracer>();
    t.learn.add<Once>(event, true, [](Learner&) { throw IoError("disk full"); });
    CHECK_THROWS_WITH_AS(t.learn.fit(1, 0.1), "disk full", IoError);
    CHECK(tracer.trace.ends_with("#disk full"));
    CHECK(tracer.trace.find(mark_of(event) + " #") == std::string::npos);  // the tracer comes later
    CHECK(t.learn.progress().activity == Activity::none);
    tracer.trace.clear();
    t.learn.fit(1, 0.1);
    CHECK(tracer.trace == "T( " + kEpoch + " )T");
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

TEST_CASE("what throws and is no std::exception is told as well") {
  Training t;
  auto& tracer = t.learn.add<Tracer>();
  t.learn.add<Once>(Event::batch_begin, true, [](Learner&) { throw 7; });
  CHECK_THROWS_AS(t.learn.fit(1, 0.1), int);
  CHECK(tracer.trace.find("#an exception that is no std::exception") != std::string::npos);
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
