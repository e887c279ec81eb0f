#pragma once
#include "apps/learn/training/train_options.h"

#include <string>

namespace learn::cli {

/// The options of `learn show-schedule`: those of a training that move its hyper-parameters, and
/// its own.
struct ShowScheduleOptions : TrialOptions {
  std::string out = "schedule.png";

  [[nodiscard]] OptionTable table() override;
  /// Sets the fields as `learn train` does. Throws as `TrainOptions::resolve`.
  void resolve(const OptionTable& table, const OptionValues& command_line);
};

/// Prints and draws how the learning rate, momentum and what else is scheduled will move in a
/// training, without training. Returns the exit code. Throws Error.
int show_schedule(const ShowScheduleOptions& options);

}  // namespace learn::cli
