#pragma once
#include "apps/learn/training/train_options.h"

#include <string>

namespace learn::cli {

/// The options of `learn show-schedule`: those of a training that move its hyper-parameters, and
/// its own.
struct ShowScheduleOptions {
  TrainOptions train;
  std::string out = "schedule.png";
};

/// The options of `learn show-schedule`, bound to `options`.
[[nodiscard]] OptionTable show_schedule_table(ShowScheduleOptions& options);

/// Fills `options`, whose table that is, as `learn train` does. Throws as `resolve` of
/// TrainOptions.
void resolve(ShowScheduleOptions& options,
             const OptionTable& table,
             const OptionValues& command_line);

/// Prints and draws how the learning rate, momentum and what else is scheduled will move in a
/// training, without training. Returns the exit code. Throws Error.
int show_schedule(const ShowScheduleOptions& options);

}  // namespace learn::cli
