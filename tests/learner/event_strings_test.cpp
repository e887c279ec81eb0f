// The events of the loop as exact strings, by hand: what the loop emits, and what expected_trace.h
// computes for the other tests, are both held to them.
#include "tests/learner/expected_trace.h"
#include "tests/learner/tiny_training.h"
#include "tests/learner/tracer.h"

#include <doctest/doctest.h>

using namespace tiny;

namespace {

// Events of an undisturbed training batch, validation pass and epoch of two batches.
const std::string kBatch = "B( l b d S( )S )B";
const std::string kValidation = "V( B( l )B )V";
const std::string kEpoch = "E( " + kBatch + " " + kBatch + " " + kValidation + " )E";

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
    Training t;
    auto& tracer = t.learn.add<Tracer>();
    t.learn.add<Once>(c.event, c.training, [&](Learner& l) { l.cancel(c.scope); });
    t.learn.fit(2, 0.1);
    CHECK(tracer.trace == c.expected);
    CHECK(expected_trace({c.event, c.training}, c.scope) == c.expected);
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

TEST_CASE("a fit emits this string of events") {
  Training t;
  auto& tracer = t.learn.add<Tracer>();
  t.learn.fit(2, 0.1);
  CHECK(tracer.trace == "T( " + kEpoch + " " + kEpoch + " )T");
  CHECK(expected_trace() == tracer.trace);
  CHECK(expected_validation() == kValidation);
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
