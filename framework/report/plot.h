#pragma once
#include "framework/report/canvas.h"

#include <filesystem>
#include <string>
#include <vector>

/// Line plots as images, without any other program: axes with round ticks, lines, legend.
namespace learn::plot {

struct Series {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;  ///< as many as `x`; a line breaks at values that are not finite
  bool markers = false;   ///< a dot at each point
  bool faint = false;     ///< drawn pale, below the others: raw values under a smoothed line
};

struct Panel {
  std::string title;
  std::string x_label;
  std::vector<Series> series;
  bool integer_x = false;  ///< ticks at whole numbers only: epochs
  bool log_y = false;      ///< logarithmic; values that are not positive are left out
};

/// Panels side by side under one title.
struct Figure {
  std::string title;
  std::vector<Panel> panels;
  int panel_width = 640;
  int panel_height = 440;
};

/// The range an axis shows and where it has ticks.
struct Axis {
  double low = 0;
  double high = 1;
  double step = 1;
  std::vector<double> ticks;
};
/// An axis that holds [low, high]: the step is 1, 2 or 5 times a power of ten (at least 1 if
/// `integer`), about `count` ticks, all of them inside. A range of one value is widened.
[[nodiscard]] Axis make_axis(double low, double high, int count, bool integer = false);
/// The number at a tick, with as many digits as the step needs.
[[nodiscard]] std::string tick_label(double value, double step);

[[nodiscard]] Canvas draw(const Figure& figure);
/// Throws IoError.
void save(const std::filesystem::path& path, const Figure& figure);

}  // namespace learn::plot
