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
  /// Sets the fields as `learn train` does. A configuration file may have all of its options; where
  /// it says a precision that is no half and the command line says none, fp16 is audited. Throws as
  /// `TrainOptions::resolve`, and UsageError for a precision that is no half.
  void resolve(const OptionTable& table, const OptionValues& command_line);
};

/// Prints what `callbacks::audit_parity` finds, and writes it to a file if that is wanted. Returns
/// the exit code: 7 if the training will not work. Throws Error.
int audit(const AuditOptions& options);

}  // namespace learn::cli
