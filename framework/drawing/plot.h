#pragma once
#include "framework/drawing/axis.h"
#include "framework/drawing/drawing.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// Line plots with round ticks and legends.
namespace learn::plot {

struct Series {
  std::string name;  ///< in the legend; empty: not in the legend
  std::vector<double> x;
  std::vector<double> y;  ///< as many as `x`; the line breaks at non-finite values
  bool markers = false;   ///< draw a dot at each point
  bool faint = false;     ///< drawn pale, below the others: raw values under a smoothed line
  bool dashed = false;
  /// Index in the palette. Related series can share a colour: raw values and their mean, or all
  /// lines of a run. Default: the first colour that no earlier series has.
  std::optional<std::size_t> color = std::nullopt;
};

struct Panel {
  std::string title;
  std::string x_label;  ///< with its unit
  std::vector<Series> series;
  bool integer_x = false;  ///< ticks at whole numbers only, as for epochs
  bool log_y = false;      ///< logarithmic; omits values that are not positive
  bool log_x = false;
  std::string y_label = "";  ///< with its unit
  /// Whether the reader cannot switch between linear and logarithmic, because only one scale is
  /// useful: shares, and values compared with a straight line.
  bool fixed_scale = false;
};

/// Returns the palette index of each series of a panel.
[[nodiscard]] std::vector<std::size_t> colors_of(const Panel& panel);

/// Panels under one title, up to three next to each other. A panel that needs more room for its
/// legend makes its row higher.
struct Figure {
  std::string title;
  std::vector<Panel> panels;
  double panel_width = 520;
  double panel_height = 360;
};

[[nodiscard]] Drawing draw(const Figure& figure);
/// Writes a .png or .svg. Throws as `Drawing::save` does.
void save(const std::filesystem::path& path, const Figure& figure);

}  // namespace learn::plot
