#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace learn {

/// How far predictions are from real targets.
struct ValueErrors {
  double mae = 0;   ///< mean absolute error, in the targets' unit
  double rmse = 0;  ///< root of the mean squared error, in the targets' unit
  /// Share of the targets' variance that is explained: 1 - (squared errors) / (squared distances to
  /// the targets' mean); below 0 where that mean would do better. For constant targets 1 if all
  /// predictions are equal to them, otherwise 0; NaN for fewer than two samples.
  double r2 = 0;
};

/// One value of all samples.
struct ValueScores {
  ValueErrors errors;
  double mean = 0;       ///< of the targets
  double deviation = 0;  ///< of the targets, over all samples: with a divisor of N
};

/// Scores of each value, and their means, as scikit-learn's mean_absolute_error,
/// root_mean_squared_error and r2_score with multioutput="uniform_average".
struct ValueReport {
  std::vector<ValueScores> values;
  ValueErrors mean;
};

/// Computes it from predictions (N,values) and as many targets. Everything is NaN without samples,
/// as are the errors of a value with a NaN prediction. Throws ShapeError unless there are as many
/// of both.
[[nodiscard]] ValueReport value_report(std::span<const float> predictions,
                                       std::int64_t values,
                                       std::span<const float> targets);

}  // namespace learn
