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
  /// the targets' mean); below 0 where that mean would do better. Of targets that are all the same
  /// 1 if they are met and else 0; NaN of less than two samples.
  double r2 = 0;
};

/// One value of all samples.
struct ValueScores {
  ValueErrors errors;
  double mean = 0;       ///< of the targets
  double deviation = 0;  ///< of the targets, over all samples: with a divisor of N
};

/// Of each value, and their plain means, as scikit-learn's mean_absolute_error,
/// root_mean_squared_error and r2_score with multioutput="uniform_average".
struct ValueReport {
  std::vector<ValueScores> values;
  ValueErrors mean;
};

/// Of predictions (N,values) and as many targets. All is NaN without samples, and the errors of a
/// value of which a prediction is NaN. Throws ShapeError unless there are as many of both.
[[nodiscard]] ValueReport value_report(std::span<const float> predictions,
                                       std::int64_t values,
                                       std::span<const float> targets);

}  // namespace learn
