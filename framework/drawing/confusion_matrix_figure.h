#pragma once
#include "framework/drawing/drawing.h"

#include <cstdint>
#include <string>
#include <vector>

namespace learn::plot {

/// Content of the cells, where there is room.
enum class CellText : std::uint8_t { counts, shares, both };

struct ConfusionFigure {
  std::string title;
  std::vector<std::string> classes;
  /// Number of images of class `truth` predicted as class `guess`, at [truth * classes + guess].
  std::vector<std::int64_t> counts;
  /// Number of images of each class, if some have no prediction; empty: the sums of the rows.
  std::vector<std::int64_t> seen = {};
  CellText text = CellText::counts;
};

/// Draws a confusion matrix: a row for each true class, a column for each predicted class, coloured
/// by the share of the row's images. With more classes the cells get smaller and then lose their
/// text; above 150 classes only every second, third, ... name is written. Throws UsageError without
/// classes, or if the number of counts does not match.
[[nodiscard]] Drawing confusion_matrix_figure(const ConfusionFigure& figure);

}  // namespace learn::plot
