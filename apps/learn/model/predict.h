#pragma once
#include "apps/learn/common/compute_options.h"

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
  std::optional<std::int64_t> top;     ///< classes to show, else 3; 0: all
  std::optional<double> threshold;     ///< above which a label is there; else 0.5
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
/// DataError says how many they were. Throws CheckpointError, DeviceError, IoError, UsageError,
/// also for what the model's targets do not have.
int predict(const PredictOptions& options);

}  // namespace learn::cli
