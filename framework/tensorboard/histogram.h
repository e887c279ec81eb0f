#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace learn::tensorboard {

/// How many values lie where, as TensorFlow's own histograms count them. Only finite values count:
/// TensorBoard draws nothing where minimum, maximum or an end is infinite or NaN.
struct Histogram {
  double min = 0;  ///< of the finite values; 0 if there are none
  double max = 0;
  double sum = 0;
  double sum_squares = 0;
  std::int64_t finite = 0;      ///< how many there are
  std::int64_t not_finite = 0;  ///< infinite or NaN
  /// Bucket i holds limits[i-1] <= x < limits[i], the first one all below its limit. The first and
  /// the last are not empty; several empty ones in a row are one. None without finite values.
  std::vector<double> limits;
  std::vector<double> counts;
};

/// Where all buckets end, rising: 0; 1e-12, each next one larger by a factor of 1.1, to 1e20; the
/// largest double; and the negatives of all these. A float lies below the last one.
[[nodiscard]] const std::vector<double>& bucket_limits();

[[nodiscard]] Histogram histogram(std::span<const float> values);

}  // namespace learn::tensorboard
