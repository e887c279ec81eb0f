#pragma once
#include "framework/learner/event.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace learn::callbacks {

/// Faults that can be injected into a training batch.
enum class FaultKind : std::uint8_t {
  overflow,      ///< an infinity in a gradient
  nan,           ///< a NaN in a gradient
  overflow_act,  ///< an infinity in what a module gives
  nan_act,       ///< a NaN in what a module gives
  spike,         ///< all gradients times a factor
  inf_loss,      ///< an infinite loss, and its gradient with it
  slow,          ///< the host waits, as for a slow disk
  raise,         ///< an exception
  kill,          ///< SIGKILL to the own process
};

/// A fault at a training batch, or at each of a range. Batches are counted from 1 over the life of
/// the learner, resumed runs included: batch n is the one that makes `FitProgress::batch_clock` n.
struct Fault {
  FaultKind kind = FaultKind::overflow;
  std::int64_t first = 1;
  std::int64_t last = 1;
  /// For a gradient, a parameter or a module (for the gradient of its output); empty: the first
  /// trained parameter. For an output, the module; empty: the whole model.
  std::string place;
  double amount = 0;                 ///< of `spike` the factor, of `slow` seconds
  Event event = Event::batch_begin;  ///< of `raise` and `kill`

  [[nodiscard]] bool at(std::int64_t batch) const noexcept {
    return first <= batch && batch <= last;
  }
};

/// Reads "overflow@17,nan@23:layer3.conv,nan_act@25:layer1,spike@27:100,inf_loss@30-32,
/// slow@40:500ms,throw@50:step_begin,kill@60": a fault, the batch or the first and the last, and,
/// after a colon, where or how much. Without that, `spike` multiplies by 1000, `slow` waits a
/// second, `throw` and `kill` come at batch_begin. Throws UsageError that says at which character
/// of the text what is wrong, and what is possible; for an empty text too.
[[nodiscard]] std::vector<Fault> parse_faults(std::string_view text);

/// In the format of `parse_faults`.
[[nodiscard]] std::string_view name_of(FaultKind kind) noexcept;

}  // namespace learn::callbacks
