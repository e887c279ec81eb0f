#pragma once
#include "apps/learn/training/train_options.h"
#include "framework/learner/find/batch_size_find.h"

namespace learn::cli {

/// The options of `learn batch-size-find`: those of the training whose batch size it finds, and its
/// own.
struct BatchSizeFindCommandOptions : TrialOptions {
  BatchSizeFindOptions sizes;

  [[nodiscard]] OptionTable table() override;
  /// Sets the fields as `learn train` does; a configuration file may have all of its options.
  /// Throws as `TrainOptions::resolve`.
  void resolve(const OptionTable& table, const OptionValues& command_line);
};

/// Prints what steps cost at each size, why it ended and a suggestion. On the CPU half of the
/// memory that is available, and no more than LEARN_MEM_LIMIT, may be taken. Returns the exit code.
/// Throws Error.
int batch_size_find(const BatchSizeFindCommandOptions& options);

}  // namespace learn::cli
