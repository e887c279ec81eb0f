#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace learn {

/// Means over the samples of the last training and validation pass, of the batches that were not
/// cancelled; NaN if there were none.
struct PassResults {
  double train_loss = std::numeric_limits<double>::quiet_NaN();
  double valid_loss = std::numeric_limits<double>::quiet_NaN();
  std::int64_t valid_samples = 0;  ///< that `valid_loss` is the mean over
  /// Updates of the training pass that the device did not make, because a gradient was not finite.
  /// As many losses that are not finite either are left out of `train_loss`.
  std::int64_t skipped_steps = 0;
  /// Of the last validation pass: those of the learner, then what callbacks have added.
  std::vector<std::pair<std::string, double>> metrics;
  /// Of the last training pass, "train_" before their names; none unless
  /// `LearnerOptions::train_metrics`.
  std::vector<std::pair<std::string, double>> train_metrics;
};

}  // namespace learn
