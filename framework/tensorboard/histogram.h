#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace learn::tensorboard {

/// Counts of values per bucket, in the buckets of TensorFlow's own histograms. Counts only finite
/// values, because TensorBoard draws nothing if the minimum, the maximum or a limit is infinite or
/// NaN.
struct Histogram {
  double min = 0;  ///< of the finite values; 0 without any
  double max = 0;
  double sum = 0;
  double sum_squares = 0;
  std::int64_t finite = 0;      ///< number of finite values
  std::int64_t not_finite = 0;  ///< number of infinite and NaN values
  /// Bucket i holds limits[i-1] <= x < limits[i]; the first holds everything below its limit. The
  /// first and the last bucket are not empty; several empty ones in a row are merged. Empty without
  /// finite values.
  std::vector<double> limits;
  std::vector<double> counts;
};

/// Returns the upper limits of all buckets, ascending: 0; 1e-12, each next one larger by a factor
/// of 1.1, to 1e20; the largest double; and the negatives of all these. Every float is below the
/// last one.
[[nodiscard]] const std::vector<double>& bucket_limits();

[[nodiscard]] Histogram histogram(std::span<const float> values);

}  // namespace learn::tensorboard
