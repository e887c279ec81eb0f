#pragma once
#include "apps/experiment/options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace learn::bench {

/// A whole training and its cost.
struct Race {
  std::string headline;          ///< of the experiment: model, data, device
  std::vector<double> accuracy;  ///< on the test set, after each finished epoch
  double seconds = 0;            ///< of the training passes, without validation
  std::optional<double> seconds_to_target;
  std::optional<std::int64_t> epochs_to_target;
  double images_per_s = 0;  ///< in training passes
  /// Bytes in use in the last training batch: kept for weights, gradients, optimizer and data that
  /// stay on the device; and the maximum for the values of a step.
  std::int64_t kept_bytes = 0, step_bytes = 0;
  bool finished = false;  ///< false: the loss was not finite, which ended the training
};

/// Trains. The clock also stops when the accuracy reaches `target`, a share of 1.
[[nodiscard]] Race race(const ExperimentOptions& options, double target);

struct Spread {
  double mean, deviation, least, most;
};

/// Takes at least one value; the deviation is the sample standard deviation.
[[nodiscard]] Spread spread_of(const std::vector<double>& values);

}  // namespace learn::bench
