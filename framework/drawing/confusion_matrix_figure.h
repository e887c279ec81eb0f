#pragma once
#include "framework/drawing/drawing.h"

#include <cstdint>
#include <string>
#include <vector>

namespace learn::plot {

/// What stands in the cells, where there is room.
enum class CellText : std::uint8_t { counts, shares, both };

struct ConfusionFigure {
  std::string title;
  std::vector<std::string> classes;
  /// Images of class `truth` that were taken for class `guess`, at [truth * classes + guess].
  std::vector<std::int64_t> counts;
  /// Images of each class, where some of them were taken for none; empty: the sums of the rows.
  std::vector<std::int64_t> seen = {};
  CellText text = CellText::counts;
};

/// A confusion matrix: a row for each true class, a column for each predicted one, coloured by the
/// share of the row's images. Cells get smaller, then lose their text, as classes get more; of more
/// than 150 every second, third, ... name is written. Throws UsageError unless there are classes,
/// and as many counts as they need.
[[nodiscard]] Drawing confusion_matrix_figure(const ConfusionFigure& figure);

}  // namespace learn::plot
