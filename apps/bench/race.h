#pragma once
#include "apps/experiment/options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace learn::bench {

/// A whole training, and what it took.
struct Race {
  std::string headline;          ///< of the experiment: model, data, device
  std::vector<double> accuracy;  ///< of the test set, after each epoch that was finished
  double seconds = 0;            ///< of the training passes, validation left out
  std::optional<double> seconds_to_target;
  std::optional<std::int64_t> epochs_to_target;
  double images_per_s = 0;  ///< in training passes
  /// In use in the last training batch: for weights, gradients, optimizer and data that stay on the
  /// device; and at most for the values of a step.
  std::int64_t kept_bytes = 0, step_bytes = 0;
  bool finished = false;  ///< false: the loss was not finite, and training ended there
};

/// Trains. The clock stops, too, when `target` is reached, a share of 1.
[[nodiscard]] Race race(const ExperimentOptions& options, double target);

struct Spread {
  double mean, deviation, least, most;
};

/// Of at least one value; the deviation is that of a sample.
[[nodiscard]] Spread spread_of(const std::vector<double>& values);

}  // namespace learn::bench
