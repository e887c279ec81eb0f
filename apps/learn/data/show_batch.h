#pragma once
#include "apps/learn/training/train_options.h"

#include <cstdint>
#include <string>

namespace learn::cli {

/// The options of `learn show-batch` and `learn data show`: the data of a training, and their own.
struct ShowBatchOptions : TrialOptions {
  std::int64_t images = 12;
  std::int64_t versions = 4;
  bool valid = false;
  std::string out = "show_batch.png";

  [[nodiscard]] OptionTable table() override;
  /// Sets the fields as `learn train` does. Throws as `TrainOptions::resolve`.
  void resolve(const OptionTable& table, const OptionValues& command_line);
};

/// Declares those of them that are not of a training.
void declare_show_batch(OptionTable& table, ShowBatchOptions& options);

/// Draws the first images of a training's batches, original and augmented, or of its validation,
/// and prints the path. Returns the exit code. Throws Error.
int show_batch(const ShowBatchOptions& options);

}  // namespace learn::cli
