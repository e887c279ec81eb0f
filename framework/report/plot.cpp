#include "framework/report/plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace learn::plot {
namespace {

constexpr Color kInk{40, 44, 52};
constexpr Color kSoft{110, 116, 128};
constexpr Color kGrid{230, 232, 236};
/// Okabe and Ito's palette without its yellow: told apart by colour-blind readers too.
constexpr std::array<Color, 6> kPalette{
    {{0, 114, 178}, {213, 94, 0}, {0, 158, 115}, {204, 121, 167}, {86, 180, 233}, {230, 159, 0}}};
constexpr int kTextScale = 2;
constexpr int kTextHeight = 8 * kTextScale;
constexpr int kTitleHeight = 44;

/// Where a panel's data go, and how.
struct Frame {
  int left, top, width, height;
  Axis x, y;
  bool log_y;

  [[nodiscard]] double to_y(double value) const { return log_y ? std::log10(value) : value; }
  [[nodiscard]] bool shows(double px, double py) const {
    return std::isfinite(px) && std::isfinite(py) && (!log_y || py > 0);
  }
  [[nodiscard]] Point at(double px, double py) const {
    return {left + (px - x.low) / (x.high - x.low) * width,
            top + height - (to_y(py) - y.low) / (y.high - y.low) * height};
  }
};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  /// An empty range becomes [0,1].
  void settle() {
    if (low > high) *this = {0, 1};
  }
};

Frame make_frame(const Panel& panel, int left, int top, int width, int height) {
  Frame frame{left, top, width, height, {}, {}, panel.log_y};
  Range x, y;
  for (const Series& series : panel.series)
    for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i)
      if (frame.shows(series.x[i], series.y[i])) {
        x.add(series.x[i]);
        y.add(frame.to_y(series.y[i]));
      }
  x.settle();
  y.settle();
  const double room = (y.high - y.low) * 0.05;
  frame.x = make_axis(x.low, x.high, width / 90, panel.integer_x);
  frame.y = make_axis(y.low - room, y.high + room, height / 50);
  return frame;
}

void draw_axes(Canvas& canvas, const Frame& frame, const Panel& panel) {
  const int bottom = frame.top + frame.height;
  for (const double tick : frame.y.ticks) {
    const int y =
        static_cast<int>(frame.at(frame.x.low, panel.log_y ? std::pow(10, tick) : tick).y);
    canvas.fill(frame.left, y, frame.width, 1, kGrid);
    const std::string label =
        panel.log_y ? fmt::format("{:.1e}", std::pow(10, tick)) : tick_label(tick, frame.y.step);
    canvas.text(frame.left - 10 - Canvas::text_width(label, kTextScale),
                y - kTextHeight / 2 + 1,
                label,
                kTextScale,
                kSoft);
  }
  for (const double tick : frame.x.ticks) {
    const int x = static_cast<int>(frame.left + (tick - frame.x.low) /
                                                    (frame.x.high - frame.x.low) * frame.width);
    canvas.fill(x, frame.top, 1, frame.height, kGrid);
    canvas.fill(x, bottom, 1, 6, kInk);
    const std::string label = tick_label(tick, frame.x.step);
    canvas.text(
        x - Canvas::text_width(label, kTextScale) / 2, bottom + 12, label, kTextScale, kSoft);
  }
  canvas.fill(frame.left, frame.top, 2, frame.height + 1, kInk);
  canvas.fill(frame.left, bottom, frame.width, 2, kInk);
  canvas.text(frame.left + (frame.width - Canvas::text_width(panel.x_label, kTextScale)) / 2,
              bottom + 38,
              panel.x_label,
              kTextScale,
              kInk);
}

void draw_series(Canvas& canvas, const Frame& frame, const Series& series, Color color) {
  std::vector<Point> run;
  const auto flush = [&] {
    canvas.polyline(run, series.faint ? 1.2 : 2.4, color, series.faint ? 0.3 : 1);
    run.clear();
  };
  for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
    if (!frame.shows(series.x[i], series.y[i])) {
      flush();
      continue;
    }
    run.push_back(frame.at(series.x[i], series.y[i]));
    if (series.markers) canvas.disc(run.back(), 4, color);
  }
  flush();
}

/// Names with their colours, right-aligned on the line of the panel's title.
void draw_legend(Canvas& canvas, const Panel& panel, int right, int y) {
  for (std::size_t i = panel.series.size(); i-- > 0;) {
    const Series& series = panel.series[i];
    if (series.name.empty()) continue;
    right -= Canvas::text_width(series.name, kTextScale);
    canvas.text(right, y, series.name, kTextScale, kInk);
    canvas.fill(right - 28, y + 5, 20, 4, kPalette[i % kPalette.size()]);
    right -= 48;
  }
}

void draw_panel(Canvas& canvas, const Panel& panel, int left, int top, int width, int height) {
  constexpr int kLeft = 110;
  constexpr int kRight = 30;
  constexpr int kTop = 44;
  constexpr int kBottom = 66;
  const Frame frame =
      make_frame(panel, left + kLeft, top + kTop, width - kLeft - kRight, height - kTop - kBottom);
  canvas.text(left + kLeft, top + 14, panel.title, kTextScale, kInk);
  draw_legend(canvas, panel, left + width - kRight, top + 14);
  draw_axes(canvas, frame, panel);
  for (const bool faint : {true, false})
    for (std::size_t i = 0; i < panel.series.size(); ++i)
      if (panel.series[i].faint == faint)
        draw_series(canvas, frame, panel.series[i], kPalette[i % kPalette.size()]);
}

}  // namespace

Axis make_axis(double low, double high, int count, bool integer) {
  if (!(high - low > 1e-12 * std::max(std::abs(low), std::abs(high)))) {
    const double around = low == 0 ? 1 : std::abs(low) * 0.1;
    low -= around;
    high += around;
  }
  const double rough = (high - low) / std::max(1, count);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = power;
  for (const double factor : {2.0, 5.0, 10.0})
    if (step < rough) step = factor * power;
  if (integer) step = std::max(1.0, step);
  Axis axis{low, high, step, {}};
  // Counted, not summed: adding the step up would let rounding grow.
  const auto first = static_cast<std::int64_t>(std::ceil(low / step - 1e-9));
  const auto last = static_cast<std::int64_t>(std::floor(high / step + 1e-9));
  for (std::int64_t i = first; i <= last; ++i) axis.ticks.push_back(static_cast<double>(i) * step);
  return axis;
}

std::string tick_label(double value, double step) {
  if (std::abs(value) < step * 1e-6) return "0";
  if (step >= 1e6 || step < 1e-4) return fmt::format("{:.1e}", value);
  const int digits = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  return fmt::format("{:.{}f}", value, digits);
}

Canvas draw(const Figure& figure) {
  const int panels = std::max(1, static_cast<int>(figure.panels.size()));
  const int title = figure.title.empty() ? 0 : kTitleHeight;
  Canvas canvas(panels * figure.panel_width, figure.panel_height + title);
  canvas.text((canvas.width() - Canvas::text_width(figure.title, kTextScale)) / 2,
              20,
              figure.title,
              kTextScale,
              kInk);
  for (std::size_t i = 0; i < figure.panels.size(); ++i)
    draw_panel(canvas,
               figure.panels[i],
               static_cast<int>(i) * figure.panel_width,
               title,
               figure.panel_width,
               figure.panel_height);
  return canvas;
}

void save(const std::filesystem::path& path, const Figure& figure) { draw(figure).save(path); }

}  // namespace learn::plot
