#pragma once
#include "framework/core/option_table.h"

#include <optional>
#include <string>
#include <vector>

namespace learn::cli {

struct AverageOptions {
  std::vector<std::string> paths;      ///< runs' folders and checkpoints
  std::optional<std::string> weights;  ///< of runs; else "best"
  std::string out;

  /// But for the arguments.
  [[nodiscard]] OptionTable table();
};

/// `learn average RUN|FILE... --out FILE`: the mean of the weights of several checkpoints. Throws
/// UsageError, CheckpointError, IoError.
int average(const AverageOptions& options);

}  // namespace learn::cli
