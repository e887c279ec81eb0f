#pragma once
#include "apps/learn/training/train_options.h"

#include <cstdint>
#include <string>

namespace learn::cli {

/// The options of `learn show-batch` and `learn data show`: the data of a training, and their own.
struct ShowBatchOptions {
  TrainOptions train;
  std::int64_t images = 12;
  std::int64_t versions = 4;
  bool valid = false;
  std::string out = "show_batch.png";
};

/// The options of `learn show-batch`, bound to `options`: those of `learn train` that say what its
/// batches hold.
[[nodiscard]] OptionTable show_batch_table(ShowBatchOptions& options);

/// Declares those of them that are not of a training.
void declare_show_batch(OptionTable& table, ShowBatchOptions& options);

/// Fills `options`, whose table that is, as `learn train` does. Throws as `resolve` of
/// TrainOptions.
void resolve(ShowBatchOptions& options, const OptionTable& table, const OptionValues& command_line);

/// Draws the first images of a training's batches, as they are and augmented, or of its validation,
/// and says where. Returns the exit code. Throws Error.
int show_batch(const ShowBatchOptions& options);

}  // namespace learn::cli
