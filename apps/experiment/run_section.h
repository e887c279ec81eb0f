#pragma once
#include "framework/core/options/option_table.h"
#include "framework/interfaces/target_kind.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace learn {

class Learner;

/// Reaction to an infinite or NaN loss.
enum class OnNan : std::uint8_t { stop, rollback };

/// The files and the output of an experiment, and the conditions that stop it.
struct RunSection {
  std::string out = "runs";
  std::string name = "train";
  std::int64_t save_every = 0;
  std::string monitor;  ///< empty: accuracy for classes, valid_loss for labels and real numbers
  std::int64_t patience = 0;
  OnNan on_nan = OnNan::stop;
  std::vector<std::string> callbacks;  ///< specs of the registry
  std::string inject;                  ///< faults to inject, as `parse_faults` reads them
  bool plots = true;
  bool report = true;
  bool progress = true;
  /// Not options: the default for the data, empty until these are loaded, and what the data tell.
  std::string usual_monitor;
  TargetKind targets = TargetKind::classes;

  void declare(OptionTable& table);
  /// Returns the element of `callbacks` that names this callback; null if it is not named.
  [[nodiscard]] const std::string* named(std::string_view callback) const;
  /// Throws UsageError for options that contradict each other.
  void check() const;
  /// Sets what depends on the data.
  void know(TargetKind kind);
  /// Unsets values as `TrainingSection::leave_out_without_effect` does.
  void leave_out_without_effect(const std::set<std::string>& given);
  /// Adds early stopping, the callbacks named with --callbacks that take part in the training,
  /// faults to inject, and the end of the training at a non-finite loss. Throws UsageError if the
  /// monitored value or the place of a fault does not exist.
  void add_callbacks(Learner& learn) const;
};

}  // namespace learn
