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

/// Draws a reliability diagram: the share of right predictions against their confidence, with the
/// gap to the diagonal, and below it the number of predictions in each bin. The title ends with the
/// ECE. Throws UsageError without bins.
[[nodiscard]] Drawing reliability_figure(const ReliabilityFigure& figure);

}  // namespace learn::plot
