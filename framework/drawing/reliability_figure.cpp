#include "framework/drawing/reliability_figure.h"

#include "framework/core/error.h"
#include "framework/drawing/axis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace learn::plot {
namespace {

constexpr double kMargin = 16;
constexpr double kTitle = 74;  // including the legend
constexpr double kLegendRow = 18;
constexpr double kSide = 320;
constexpr double kHistogram = 90;
constexpr double kBetween = 16;
constexpr double kLeft = 74;
constexpr double kBelow = 44;

const Color kBars = palette(0);
const Color kMissing = palette(1);
const Stroke kMean{.thickness = 2, .color = kMissing};
const Stroke kDiagonal{.thickness = 1.2, .color = kInk, .dashes = {5, 4}};

void draw_share(Drawing& drawing, const Box& box) { drawing.fill(box, kBars, 0.85); }

/// Fills the difference. It is translucent, because it covers the bar where more predictions are
/// right than expected.
void draw_difference(Drawing& drawing, const Box& box) { drawing.fill(box, kMissing, 0.35); }

void tick_label(Drawing& drawing, Point at, const std::string& text, Align align, Anchor anchor) {
  drawing.text(at, text, {.size = 11, .color = kSoftInk, .align = align, .anchor = anchor});
}

void draw_grid(Drawing& drawing, const Box& frame, const Axis& y) {
  for (const Axis::Tick& tick : y.ticks) {
    const double at = frame.bottom() - y.place(tick.value) * frame.height;
    drawing.polyline(std::vector<Point>{{frame.left, at}, {frame.right(), at}}, {.color = kGrid});
    tick_label(drawing, {frame.left - 7, at}, tick.label, Align::right, Anchor::middle);
  }
}

void draw_frame(Drawing& drawing, const Box& frame) {
  drawing.polyline(
      std::vector<Point>{
          {frame.left, frame.top}, {frame.left, frame.bottom()}, {frame.right(), frame.bottom()}},
      {});
}

void draw_bins(Drawing& drawing, const Box& frame, const std::vector<CalibrationBin>& bins) {
  const double width = frame.width / static_cast<double>(bins.size());
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const CalibrationBin& bin = bins[i];
    if (bin.count == 0) continue;
    const double left = frame.left + static_cast<double>(i) * width;
    const auto y = [&](double share) { return frame.bottom() - share * frame.height; };
    draw_share(drawing, {left + 1, y(bin.correct), width - 2, bin.correct * frame.height});
    const double upper = std::max(bin.correct, bin.confidence),
                 lower = std::min(bin.correct, bin.confidence);
    draw_difference(drawing, {left + 1, y(upper), width - 2, (upper - lower) * frame.height});
    drawing.polyline(
        std::vector<Point>{{left + 1, y(bin.confidence)}, {left + width - 1, y(bin.confidence)}},
        kMean);
  }
}

void draw_histogram(Drawing& drawing, const Box& frame, const std::vector<CalibrationBin>& bins) {
  std::int64_t most = 0;
  for (const CalibrationBin& bin : bins) most = std::max(most, bin.count);
  const Axis y = count_axis(most, 3);
  draw_grid(drawing, frame, y);
  const double width = frame.width / static_cast<double>(bins.size());
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const double height = y.place(static_cast<double>(bins[i].count)) * frame.height;
    drawing.fill({frame.left + static_cast<double>(i) * width + 1,
                  frame.bottom() - height,
                  width - 2,
                  height},
                 kSoftInk);
  }
  draw_frame(drawing, frame);
}

/// Draws the legend in the colours and strokes of the drawing.
void draw_legend(Drawing& drawing, Point corner) {
  Point at = corner;
  const auto name = [&](const char* text) {
    at.x += 22;
    at.x += drawing.text({at.x, at.y}, text, {.size = 11.5, .anchor = Anchor::middle}).width + 14;
  };
  const auto line = [&](const Stroke& stroke, const char* text) {
    drawing.polyline(std::vector<Point>{at, {at.x + 16, at.y}}, stroke);
    name(text);
  };
  const auto sample = [&] { return Box{at.x, at.y - 5, 16, 10}; };
  draw_share(drawing, sample());
  name("share correct");
  draw_difference(drawing, sample());
  name("overconfident");
  draw_share(drawing, sample());
  draw_difference(drawing, sample());
  name("underconfident");
  at = {corner.x, corner.y + kLegendRow};
  line(kMean, "mean confidence");
  line(kDiagonal, "perfectly calibrated");
}

}  // namespace

Drawing reliability_figure(const ReliabilityFigure& figure) {
  check<UsageError>(!figure.bins.empty(), "a reliability figure needs at least one bin");
  const double ece = expected_calibration_error(figure.bins);
  const std::string title =
      fmt::format("{}{}{}",
                  figure.title,
                  figure.title.empty() ? "" : ": ",
                  std::isnan(ece) ? std::string("no predictions") : fmt::format("ECE {:.3f}", ece));
  Drawing drawing(kLeft + kSide + 2 * kMargin + 8,
                  kMargin + kTitle + kSide + kBetween + kHistogram + kBelow + kMargin,
                  title);
  drawing.text({kMargin, kMargin},
               title,
               {.size = 14, .bold = true, .width = drawing.width() - 2 * kMargin});
  draw_legend(drawing, {kLeft, kMargin + kTitle - 20 - kLegendRow});
  const Box upper{kLeft, kMargin + kTitle, kSide, kSide};
  const Box lower{kLeft, upper.bottom() + kBetween, kSide, kHistogram};
  draw_grid(drawing, upper, linear_axis(0, 1, 5));
  draw_bins(drawing, upper, figure.bins);
  drawing.polyline(std::vector<Point>{{upper.left, upper.bottom()}, {upper.right(), upper.top}},
                   kDiagonal);
  draw_frame(drawing, upper);
  draw_histogram(drawing, lower, figure.bins);
  const Axis x = linear_axis(0, 1, 5);
  for (const Axis::Tick& tick : x.ticks)
    tick_label(drawing,
               {lower.left + tick.value * lower.width, lower.bottom() + 5},
               tick.label,
               Align::center,
               Anchor::top);
  const TextStyle across{.size = 12, .align = Align::center, .anchor = Anchor::top};
  drawing.text({lower.center().x, lower.bottom() + 22},
               "confidence (probability of the prediction)",
               across);
  TextStyle upward = across;
  upward.upward = true;
  drawing.text({kMargin - 4, upper.center().y}, "share correct", upward);
  drawing.text({kMargin - 4, lower.center().y}, "images", upward);
  return drawing;
}

}  // namespace learn::plot
