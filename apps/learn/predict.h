#pragma once
#include "apps/learn/compute_options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace learn::cli {

struct PredictOptions {
  std::string path;                    ///< a run's folder, a checkpoint or "last"
  std::vector<std::string> images;     ///< files, folders, archives, "-"
  std::optional<std::string> out;      ///< where "last" looks; else "runs"
  std::optional<std::string> weights;  ///< of a run; else "best"
  std::int64_t top = 3;                ///< classes to show; 0: all
  bool csv = false;
  bool json = false;
  bool mirrored = false;
  std::int64_t batch_size = 64;
  ComputeOptions compute;

  /// But for the arguments.
  [[nodiscard]] OptionTable table();
};

/// `learn predict RUN|FILE IMAGE...`: what a trained model says of each image, in the order of
/// the arguments. One that cannot be read gets a warning, and the others are predicted; then a
/// DataError says how many they were. Throws CheckpointError, UsageError, DeviceError, IoError.
int predict(const PredictOptions& options);

}  // namespace learn::cli
