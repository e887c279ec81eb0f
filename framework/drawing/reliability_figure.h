#pragma once
#include "framework/drawing/drawing.h"
#include "framework/evaluation/calibration.h"

#include <string>
#include <vector>

namespace learn::plot {

struct ReliabilityFigure {
  std::string title;
  std::vector<CalibrationBin> bins;  ///< of equal width, over probabilities from 0 to 1
};

/// How far probabilities can be trusted: share of right predictions against confidence, with what
/// is missing to the diagonal, and under it how many predictions each bin has. The title ends with
/// the ECE. Throws UsageError if there are no bins.
[[nodiscard]] Drawing reliability_figure(const ReliabilityFigure& figure);

}  // namespace learn::plot
