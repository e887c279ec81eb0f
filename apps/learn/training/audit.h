#pragma once
#include "apps/learn/training/train_options.h"

#include <cstdint>
#include <string>

namespace learn::cli {

/// The options of `learn audit`: those of the training that is audited, and its own.
struct AuditOptions : TrialOptions {
  AuditOptions() { train.experiment.precision.precision = "fp16"; }

  std::int64_t steps = 8;
  std::string save;

  [[nodiscard]] OptionTable table() override;
  /// Sets the fields as `learn train` does. A configuration file may have all of its options; if
  /// its precision is not a half precision and the command line gives none, fp16 is audited. Throws
  /// as `TrainOptions::resolve`, and UsageError for a precision that is not a half precision.
  void resolve(const OptionTable& table, const OptionValues& command_line);
};

/// Prints what `callbacks::audit_parity` finds, and writes it to a file if requested. Returns the
/// exit code: 7 if the training will not work. Throws Error.
int audit(const AuditOptions& options);

}  // namespace learn::cli
