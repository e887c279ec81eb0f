#pragma once
#include "framework/learner/event.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace learn::callbacks {

/// Kinds of faults that can be injected into a training batch.
enum class FaultKind : std::uint8_t {
  overflow,      ///< an infinity in a gradient
  nan,           ///< a NaN in a gradient
  overflow_act,  ///< an infinity in a module's output
  nan_act,       ///< a NaN in a module's output
  spike,         ///< all gradients multiplied by a factor
  inf_loss,      ///< an infinite loss, and so an infinite gradient
  slow,          ///< the host waits, as if for a slow disk
  raise,         ///< an exception
  kill,          ///< SIGKILL to this process
};

/// A fault at one training batch, or at each batch of a range. Batches are counted from 1 over the
/// life of the learner, including resumed runs: batch n is the one that makes
/// `FitProgress::batch_clock` n.
struct Fault {
  FaultKind kind = FaultKind::overflow;
  std::int64_t first = 1;
  std::int64_t last = 1;
  /// For a gradient: a parameter, or a module (the gradient of its output); empty: the first
  /// trained parameter. For an activation: the module; empty: the whole model.
  std::string place;
  double amount = 0;                 ///< factor of `spike`, seconds of `slow`
  Event event = Event::batch_begin;  ///< for `raise` and `kill`

  [[nodiscard]] bool at(std::int64_t batch) const noexcept {
    return first <= batch && batch <= last;
  }
};

/// Parses "overflow@17,nan@23:layer3.conv,nan_act@25:layer1,spike@27:100,inf_loss@30-32,
/// slow@40:500ms,throw@50:step_begin,kill@60": a fault, the batch or the first and the last batch,
/// and, after a colon, the place or the amount. The defaults are a factor of 1000 for `spike`, one
/// second for `slow`, and batch_begin for `throw` and `kill`. Throws UsageError, with the position
/// of the error in the text and the valid choices; an empty text is an error too.
[[nodiscard]] std::vector<Fault> parse_faults(std::string_view text);

/// Returns the text that `parse_faults` parses to this fault.
[[nodiscard]] std::string_view name_of(FaultKind kind) noexcept;

}  // namespace learn::callbacks
