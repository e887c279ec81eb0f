#pragma once
#include "framework/learner/event.h"

#include <cstdint>
#include <string>

/// Expected output of a Tracer. It is computed from the loop as it is printed (`kLoop`) and from
/// the rules of cancelling (ADR 0003), and so holds the code of the loop to both, for events to
/// come too.
namespace tiny {

/// How often the loops of the loop are run.
struct Rounds {
  std::int64_t epochs = 2;
  std::int64_t batches = 2;
  std::int64_t validation_batches = 1;  ///< 0: there is no validation
};

/// A place in a run: an event's first occurrence, or the one after `before` occurrences. Counts
/// batches of the training, or those of the validation.
struct Place {
  learn::Event event;
  bool training = true;
  std::int64_t before = 0;
};

/// A whole run.
[[nodiscard]] std::string expected_trace(const Rounds& rounds = {});
/// Whether a tracer runs before or after the one that cancels.
enum class Tracing : std::uint8_t { before, after };
/// A run in which a handler cancels the scope at that place.
[[nodiscard]] std::string expected_trace(const Place& place,
                                         learn::Scope cancelled,
                                         Tracing tracing = Tracing::after);
/// A run whose first training batch makes no step.
[[nodiscard]] std::string expected_trace_without_first_step();
/// A validation pass alone.
[[nodiscard]] std::string expected_validation();

/// Whether the place exists in a run.
[[nodiscard]] bool occurs(const Place& place);
/// Whether a scope is open there; one that an event opens or closes is.
[[nodiscard]] bool is_open(learn::Scope scope, const Place& place);

}  // namespace tiny
