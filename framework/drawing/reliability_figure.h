#pragma once
#include "framework/drawing/drawing.h"

#include <cstdint>
#include <string>
#include <vector>

namespace learn::plot {

/// The predictions whose probability lies in an interval.
struct ReliabilityBin {
  std::int64_t count = 0;
  double confidence = 0;  ///< mean probability of the class that was predicted
  double correct = 0;     ///< share of right predictions
};

struct ReliabilityFigure {
  std::string title;
  std::vector<ReliabilityBin> bins;  ///< of equal width, over probabilities from 0 to 1
};

/// The mean distance of confidence and share of right predictions over all predictions (ECE; Guo et
/// al. 2017). NaN if there are none.
[[nodiscard]] double expected_calibration_error(const std::vector<ReliabilityBin>& bins);

/// How far probabilities can be trusted: share of right predictions against confidence, with what
/// is missing to the diagonal, and under it how many predictions each bin has. The title ends with
/// the ECE. Throws UsageError if there are no bins.
[[nodiscard]] Drawing reliability_figure(const ReliabilityFigure& figure);

}  // namespace learn::plot
