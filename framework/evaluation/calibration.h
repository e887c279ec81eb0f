#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace learn {

/// The predictions with a probability in an interval.
struct CalibrationBin {
  std::int64_t count = 0;
  double confidence = 0;  ///< mean probability of the class that was predicted
  double correct = 0;     ///< share of correct predictions
};

/// How far the probabilities that a model gives can be trusted.
struct Calibration {
  /// Bins of equal width over (0, 1], which include their upper end. Rows with a NaN are in no bin.
  std::vector<CalibrationBin> bins;
  double ece = 0;    ///< `expected_calibration_error`
  double mce = 0;    ///< the largest distance of confidence and share of right ones in a bin
  double nll = 0;    ///< mean of -log p of the true class
  double brier = 0;  ///< mean over samples of the squared errors of all classes' probabilities
};

/// The mean distance of confidence and share of correct predictions over all predictions (ECE; Guo
/// et al. 2017, "On Calibration of Modern Neural Networks"). NaN without predictions.
[[nodiscard]] double expected_calibration_error(std::span<const CalibrationBin> bins);

/// Computes it from logits (N,classes) and the N true classes. All four numbers are NaN without
/// samples, or if a logit is NaN. The Brier score is the one for any number of classes, in [0, 2]
/// (Brier 1950): for two classes it is twice scikit-learn's value. Throws UsageError for less than
/// one bin, ShapeError for logits that are not N*classes, DataError for a class that is not in [0,
/// classes).
[[nodiscard]] Calibration calibration(std::span<const float> logits,
                                      std::int64_t classes,
                                      std::span<const std::int64_t> truths,
                                      int bins = 15);

}  // namespace learn
