#include "framework/drawing/plot.h"

#include "framework/drawing/legend.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace learn::plot {
namespace {

constexpr double kMargin = 14;
constexpr double kTitleHeight = 34;
constexpr double kTickLength = 4;
constexpr double kSmallTick = 2.5;
constexpr double kTickSize = 11;
constexpr double kGapToLabels = 5;
constexpr double kDot = 3;
constexpr std::size_t kMaxColumns = 3;
/// Limits of plotted values. Beyond them a range would have no width, or no room around it; such
/// values are drawn at the border.
constexpr double kMinValue = 1e-300;
constexpr double kMaxValue = 1e300;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    value = std::clamp(value, -kMaxValue, kMaxValue);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  [[nodiscard]] bool empty() const { return low > high; }
};

struct Axes {
  Axis x, y;
  bool empty = true;
  [[nodiscard]] bool shows(double px, double py) const { return x.shows(px) && y.shows(py); }
};

/// Returns an axis with room above and below the data, but not below zero if no value is negative.
Axis y_axis(const Range& range, bool log, int count) {
  constexpr double kRoom = 0.05;
  if (range.empty()) return log ? log_axis(1, 10, count) : linear_axis(0, 1, count);
  if (log) {
    const double decades = (std::log10(range.high) - std::log10(range.low)) * kRoom;
    return log_axis(std::max(kMinValue, range.low / std::pow(10, decades)),
                    std::min(kMaxValue, range.high * std::pow(10, decades)),
                    count);
  }
  const double room = (range.high - range.low) * kRoom;
  const double low = range.low - room;
  return linear_axis(range.low >= 0 ? std::max(low, 0.0) : low, range.high + room, count);
}

Axis x_axis(const Range& range, const Panel& panel, int count) {
  if (panel.log_x)
    return range.empty() ? log_axis(1, 10, count) : log_axis(range.low, range.high, count);
  return range.empty() ? linear_axis(0, 1, count, panel.integer_x)
                       : linear_axis(range.low, range.high, count, panel.integer_x);
}

Axes make_axes(const Panel& panel, double width, double height) {
  Axes axes;
  axes.x.log = panel.log_x;
  axes.y.log = panel.log_y;
  Range x, y;
  for (const Series& series : panel.series)
    for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i)
      if (axes.shows(series.x[i], series.y[i])) {
        x.add(series.x[i]);
        y.add(series.y[i]);
      }
  axes.empty = x.empty();
  constexpr double kBetweenX = 75, kBetweenY = 45;
  axes.x = x_axis(x, panel, static_cast<int>(width / kBetweenX));
  axes.y = y_axis(y, panel.log_y, static_cast<int>(height / kBetweenY));
  return axes;
}

TextStyle tick_style(Align align, Anchor anchor) {
  return {.size = kTickSize, .color = kSoftInk, .align = align, .anchor = anchor};
}

const TextStyle kAxisLabel{.size = 12, .align = Align::center};

/// A panel, with the parts of its layout that depend on its content.
class PanelDrawing {
 public:
  PanelDrawing(const Panel& panel, double width, double height)
      : panel_(panel),
        width_(width),
        height_(height),
        legend_(panel, width - 2 * kMargin - kLeft) {}

  [[nodiscard]] double legend_height() const { return legend_.height(); }

  /// `legend_height`: the height of the tallest legend in the row.
  void draw(Drawing& drawing, Point corner, double legend_height) {
    place_frame(corner, legend_height);
    const double legend = frame_.top - kAboveFrame - legend_.height();
    drawing.text({frame_.left, legend - kPanelTitle + kMargin / 2},
                 panel_.title,
                 {.size = 13.5, .bold = true, .width = frame_.width});
    legend_.draw(drawing, {frame_.left, legend});
    draw_y_axis(drawing, corner.x);
    draw_x_axis(drawing);
    const std::vector<Look> looks = looks_of(panel_);
    if (axes_.empty)
      drawing.text(frame_.center(),
                   "no values",
                   {.color = kSoftInk, .align = Align::center, .anchor = Anchor::middle});
    for (const bool faint : {true, false})
      for (std::size_t i = 0; i < panel_.series.size(); ++i)
        if (panel_.series[i].faint == faint) draw_series(drawing, panel_.series[i], looks[i]);
  }

 private:
  static constexpr double kPanelTitle = 26;
  static constexpr double kAboveFrame = 8;
  static constexpr double kLeft = 60;  // approximate width of the y axis, before it is known

  /// Places the frame. Its left edge depends on the labels, and these depend on its height.
  void place_frame(Point corner, double legend_height) {
    const double top = corner.y + kPanelTitle + legend_height + kAboveFrame;
    const double below = kTickLength + kGapToLabels + 2 * 17 + 2;
    const double bottom = corner.y + height_ + legend_height - below;
    axes_ = make_axes(panel_, width_ - kLeft - 2 * kMargin, bottom - top);
    double widest = 0;
    for (const Axis::Tick& tick : axes_.y.ticks)
      widest = std::max(
          widest, Drawing::measure(tick.label, tick_style(Align::right, Anchor::middle)).width);
    const double label = panel_.y_label.empty() ? 0 : 20;
    const double left = corner.x + kMargin + label + widest + kGapToLabels + kTickLength;
    const Axis::Tick last = axes_.x.ticks.empty() ? Axis::Tick{} : axes_.x.ticks.back();
    const double half =
        Drawing::measure(last.label, tick_style(Align::left, Anchor::top)).width / 2;
    const double right = corner.x + width_ - std::max(kMargin, half + 4);
    frame_ = {left, top, right - left, bottom - top};
  }

  [[nodiscard]] double x_of(double value) const {
    return frame_.left + std::clamp(axes_.x.place(value), 0.0, 1.0) * frame_.width;
  }
  [[nodiscard]] double y_of(double value) const {
    return frame_.bottom() - std::clamp(axes_.y.place(value), 0.0, 1.0) * frame_.height;
  }

  void draw_y_axis(Drawing& drawing, double left) const {
    for (const Axis::Tick& tick : axes_.y.ticks) {
      const double y = y_of(tick.value);
      if (!tick.label.empty())
        drawing.polyline(std::vector<Point>{{frame_.left, y}, {frame_.right(), y}},
                         {.thickness = 1, .color = kGrid});
      draw_tick(drawing, {frame_.left, y}, {-length_of(tick), 0});
      drawing.text({frame_.left - kTickLength - kGapToLabels, y},
                   tick.label,
                   tick_style(Align::right, Anchor::middle));
    }
    drawing.polyline(std::vector<Point>{{frame_.left, frame_.top}, {frame_.left, frame_.bottom()}},
                     {});
    TextStyle style = kAxisLabel;
    style.upward = true;
    style.width = frame_.height;
    drawing.text({left + kMargin, frame_.center().y}, panel_.y_label, style);
  }

  void draw_x_axis(Drawing& drawing) const {
    const double bottom = frame_.bottom();
    for (const Axis::Tick& tick : axes_.x.ticks) {
      const double x = x_of(tick.value);
      if (!tick.label.empty())
        drawing.polyline(std::vector<Point>{{x, frame_.top}, {x, bottom}},
                         {.thickness = 1, .color = kGrid});
      draw_tick(drawing, {x, bottom}, {0, length_of(tick)});
      drawing.text(
          {x, bottom + kTickLength + 2}, tick.label, tick_style(Align::center, Anchor::top));
    }
    drawing.polyline(std::vector<Point>{{frame_.left, bottom}, {frame_.right(), bottom}}, {});
    TextStyle style = kAxisLabel;
    style.width = frame_.width;
    drawing.text(
        {frame_.center().x, bottom + kTickLength + kGapToLabels + 17}, panel_.x_label, style);
  }

  static double length_of(const Axis::Tick& tick) {
    return tick.label.empty() ? kSmallTick : kTickLength;
  }

  static void draw_tick(Drawing& drawing, Point from, Size along) {
    drawing.polyline(std::vector<Point>{from, {from.x + along.width, from.y + along.height}}, {});
  }

  void draw_series(Drawing& drawing, const Series& series, const Look& look) const {
    std::vector<Point> run;
    const auto flush = [&] {
      drawing.polyline(run, look.stroke);
      run.clear();
    };
    std::vector<Point> dots;
    for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
      if (!axes_.shows(series.x[i], series.y[i])) {
        flush();
        continue;
      }
      run.push_back({x_of(series.x[i]), y_of(series.y[i])});
      if (series.markers) dots.push_back(run.back());
    }
    flush();
    for (const Point& dot : dots) drawing.disc(dot, kDot, look.color);
  }

  const Panel& panel_;
  double width_, height_;
  Legend legend_;
  Axes axes_;
  Box frame_;
};

/// Arranges four panels as two rows of two.
std::size_t columns_of(std::size_t panels) {
  if (panels == 4) return 2;
  return std::clamp<std::size_t>(panels, 1, kMaxColumns);
}

}  // namespace

Drawing draw(const Figure& figure) {
  std::vector<PanelDrawing> panels;
  for (const Panel& panel : figure.panels)
    panels.emplace_back(panel, figure.panel_width, figure.panel_height);
  const std::size_t columns = columns_of(panels.size());
  const std::size_t rows = std::max<std::size_t>(1, (panels.size() + columns - 1) / columns);
  std::vector<double> legends(rows, 0);
  for (std::size_t i = 0; i < panels.size(); ++i)
    legends[i / columns] = std::max(legends[i / columns], panels[i].legend_height());
  const double title = figure.title.empty() ? 0 : kTitleHeight;
  double height = title + kMargin;
  for (const double legend : legends) height += figure.panel_height + legend;
  Drawing drawing(static_cast<double>(columns) * figure.panel_width, height, figure.title);
  drawing.text(
      {drawing.width() / 2, kMargin},
      figure.title,
      {.size = 15, .bold = true, .align = Align::center, .width = drawing.width() - 2 * kMargin});
  double top = title + kMargin / 2;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const double left = static_cast<double>(i % columns) * figure.panel_width;
    panels[i].draw(drawing, {left, top}, legends[i / columns]);
    if (i % columns == columns - 1) top += figure.panel_height + legends[i / columns];
  }
  return drawing;
}

void save(const std::filesystem::path& path, const Figure& figure) { draw(figure).save(path); }

}  // namespace learn::plot
