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

/// What is done when the loss is infinite or NaN.
enum class OnNan : std::uint8_t { stop, rollback };

/// What an experiment keeps and shows, and when it stops.
struct RunSection {
  std::string out = "runs";
  std::string name = "train";
  std::int64_t save_every = 0;
  std::string monitor;  ///< empty: accuracy of classes, valid_loss of labels and real numbers
  std::int64_t patience = 0;
  OnNan on_nan = OnNan::stop;
  std::vector<std::string> callbacks;  ///< specs of the registry
  std::string inject;                  ///< faults to rehearse, as `parse_faults` reads them
  bool plots = true;
  bool report = true;
  bool progress = true;
  std::string usual_monitor;  ///< not an option: that of the data; empty until these are known

  void declare(OptionTable& table);
  /// Of `callbacks`, the text that names this one; null if there is none.
  [[nodiscard]] const std::string* named(std::string_view callback) const;
  /// Throws UsageError for options that contradict each other.
  void check() const;
  /// Sets the default that depends on the data.
  void know(TargetKind targets);
  /// Unsets values as `TrainingSection::leave_out_without_effect` does.
  void leave_out_without_effect(const std::set<std::string>& given);
  /// Early stopping, what was named with --callbacks and takes part in the training, faults to
  /// inject, and the end at a loss that is not finite. Throws UsageError for a value to monitor or
  /// a place of a fault that there is not.
  void add_callbacks(Learner& learn) const;
};

}  // namespace learn
