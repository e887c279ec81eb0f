#pragma once
#include "framework/drawing/axis.h"
#include "framework/drawing/drawing.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// Line plots: axes with round ticks, lines, legends.
namespace learn::plot {

struct Series {
  std::string name;  ///< in the legend; empty: it has no place there
  std::vector<double> x;
  std::vector<double> y;  ///< as many as `x`; a line breaks at values that are not finite
  bool markers = false;   ///< a dot at each point
  bool faint = false;     ///< drawn pale, below the others: raw values under a smoothed line
  bool dashed = false;
  /// Place in the palette. What belongs together can have one colour: raw values and their mean, or
  /// all lines of a run. Default: the first that no series before has.
  std::optional<std::size_t> color = std::nullopt;
};

struct Panel {
  std::string title;
  std::string x_label;  ///< with its unit
  std::vector<Series> series;
  bool integer_x = false;  ///< ticks at whole numbers only: epochs
  bool log_y = false;      ///< logarithmic; values that are not positive are left out
  bool log_x = false;
  std::string y_label = "";  ///< with its unit
  /// A reader has no use for another scale, logarithmic or linear: shares, and what is compared
  /// with a straight line.
  bool fixed_scale = false;
};

/// The place in the palette of each series of a panel.
[[nodiscard]] std::vector<std::size_t> colors_of(const Panel& panel);

/// Panels under one title, up to three beside each other. A panel that needs more room for its
/// legend makes its row higher.
struct Figure {
  std::string title;
  std::vector<Panel> panels;
  double panel_width = 520;
  double panel_height = 360;
};

[[nodiscard]] Drawing draw(const Figure& figure);
/// Writes a .png or .svg. Throws as `Drawing::save`.
void save(const std::filesystem::path& path, const Figure& figure);

}  // namespace learn::plot
