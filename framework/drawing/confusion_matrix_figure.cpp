#include "framework/drawing/confusion_matrix_figure.h"

#include "framework/core/error.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace learn::plot {
namespace {

constexpr double kMargin = 16;
constexpr double kTitleLine = 30;
constexpr double kAxisLabel = 20;
constexpr double kGap = 6;
constexpr double kMaxName = 150;
constexpr double kBar = 14;        // width of the colour bar
constexpr double kBarRoom = 64;    // including its labels
constexpr double kMinSide = 240;   // of the matrix
constexpr double kMaxNames = 150;  // classes whose names are all written

/// Sizes for a number of classes, in units of the drawing.
struct Scale {
  double cell = 48;
  double name = 12;  // font size of the names
  double text = 0;   // font size of the cells' text; 0: no room
  int every = 1;     // write every n-th name
};

Scale scale_for(std::size_t classes, bool two_lines) {
  if (classes <= 12) return {two_lines ? 56.0 : 48.0, 12, 11.5, 1};
  if (classes <= 24) return {two_lines ? 40.0 : 34.0, 11, two_lines ? 9.5 : 10.0, 1};
  if (classes <= 40) return {24, 10.5, two_lines ? 0 : 8.5, 1};
  const double cell = classes <= 100 ? 12 : std::max(3.0, 1200.0 / static_cast<double>(classes));
  const int every = static_cast<int>(std::ceil(static_cast<double>(classes) / kMaxNames));
  return {cell, std::min(9.5, cell * every * 0.85), 0, every};
}

/// Maps a share to a colour from white to dark blue, evenly in brightness.
Color color_of(double share) {
  constexpr std::array<Color, 5> kStops{
      {{247, 251, 255}, {198, 219, 239}, {107, 174, 214}, {33, 113, 181}, {8, 48, 107}}};
  const double at = std::clamp(share, 0.0, 1.0) * (kStops.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(at), kStops.size() - 2);
  return mix(kStops[below], kStops[below + 1], at - static_cast<double>(below));
}

/// Returns a whole percentage. Only a share of exactly 0 or 1 is shown as 0% or 100%.
std::string percent(double share) {
  if (share > 0 && share < 0.01) return "<1%";
  if (share < 1 && share > 0.99) return ">99%";
  return fmt::format("{:.0f}%", 100 * share);
}

class ConfusionDrawing {
 public:
  explicit ConfusionDrawing(const ConfusionFigure& figure)
      : figure_(figure),
        classes_(figure.classes.size()),
        scale_(scale_for(classes_, figure.text == CellText::both)) {
    const double n = static_cast<double>(classes_);
    if (n * scale_.cell < kMinSide) scale_.cell = kMinSide / n;
    side_ = n * scale_.cell;
    for (std::size_t i = 0; i < classes_; i += static_cast<std::size_t>(scale_.every))
      widest_ = std::max(widest_, Drawing::measure(figure.classes[i], name_style()).width);
    turned_ = widest_ > scale_.cell - 6;
    for (std::size_t i = 0; i < classes_; ++i)
      seen_.push_back(figure.seen.empty() ? row_sum(i) : figure.seen[i]);
  }

  Drawing draw() {
    const double names = widest_ + kGap;
    left_ = kMargin + kAxisLabel + names;
    top_ = kMargin + (figure_.title.empty() ? 0 : kTitleLine);
    const double below = kGap + (turned_ ? widest_ : 16) + kAxisLabel + 6;
    Drawing drawing(
        left_ + side_ + kBarRoom + kMargin, top_ + side_ + below + kMargin, figure_.title);
    drawing.text({kMargin, kMargin},
                 figure_.title,
                 {.size = 15, .bold = true, .width = drawing.width() - 2 * kMargin});
    for (std::size_t truth = 0; truth < classes_; ++truth)
      for (std::size_t guess = 0; guess < classes_; ++guess) draw_cell(drawing, truth, guess);
    drawing.outline({left_, top_, side_, side_}, {});
    draw_names(drawing);
    drawing.text({left_ + side_ / 2, top_ + side_ + below},
                 "predicted class",
                 {.align = Align::center, .anchor = Anchor::bottom});
    drawing.text(
        {kMargin, top_ + side_ / 2}, "true class", {.align = Align::center, .upward = true});
    draw_color_bar(drawing);
    return drawing;
  }

 private:
  [[nodiscard]] TextStyle name_style() const { return {.size = scale_.name, .width = kMaxName}; }
  [[nodiscard]] std::int64_t count(std::size_t truth, std::size_t guess) const {
    return figure_.counts[truth * classes_ + guess];
  }
  [[nodiscard]] std::int64_t row_sum(std::size_t truth) const {
    const auto row = figure_.counts.begin() + static_cast<std::ptrdiff_t>(truth * classes_);
    return std::accumulate(row, row + static_cast<std::ptrdiff_t>(classes_), std::int64_t{0});
  }

  void draw_cell(Drawing& drawing, std::size_t truth, std::size_t guess) const {
    const Box box{left_ + static_cast<double>(guess) * scale_.cell,
                  top_ + static_cast<double>(truth) * scale_.cell,
                  scale_.cell,
                  scale_.cell};
    if (seen_[truth] == 0) return drawing.fill(box, kGrid);
    const double share =
        static_cast<double>(count(truth, guess)) / static_cast<double>(seen_[truth]);
    drawing.fill(box, color_of(share));
    if (scale_.text == 0 || count(truth, guess) == 0) return;
    constexpr double kDark = 0.5;
    TextStyle style{.size = scale_.text,
                    .color = share > kDark ? kWhite : kInk,
                    .align = Align::center,
                    .anchor = Anchor::middle};
    const std::string number = std::to_string(count(truth, guess));
    const Point center = box.center();
    if (figure_.text == CellText::both) {
      const double line = scale_.text * 0.65;
      draw_fitted(drawing, {center.x, center.y - line}, number, style);
      style.size *= 0.85;
      draw_fitted(drawing, {center.x, center.y + line}, percent(share), style);
    } else {
      draw_fitted(
          drawing, center, figure_.text == CellText::counts ? number : percent(share), style);
    }
  }

  /// Draws text, in a smaller font if it does not fit its cell.
  void draw_fitted(Drawing& drawing, Point at, const std::string& text, TextStyle style) const {
    const double room = scale_.cell - 4, width = Drawing::measure(text, style).width;
    if (width > room) style.size *= room / width;
    drawing.text(at, text, style);
  }

  void draw_names(Drawing& drawing) const {
    for (std::size_t i = 0; i < classes_; i += static_cast<std::size_t>(scale_.every)) {
      const double middle = (static_cast<double>(i) + 0.5) * scale_.cell;
      TextStyle style = name_style();
      style.anchor = Anchor::middle;
      style.align = Align::right;
      drawing.text({left_ - kGap, top_ + middle}, figure_.classes[i], style);
      style.upward = turned_;
      if (!turned_) {
        style.align = Align::center;
        style.anchor = Anchor::top;
      }
      drawing.text({left_ + middle, top_ + side_ + kGap}, figure_.classes[i], style);
    }
  }

  void draw_color_bar(Drawing& drawing) const {
    constexpr int kSteps = 64;
    const double x = left_ + side_ + 14, height = std::min(side_, 320.0);
    for (int i = 0; i < kSteps; ++i)
      // Slightly higher than a step, so that no gap shows.
      drawing.fill(
          {x, top_ + height * i / kSteps, kBar, height / kSteps + (i + 1 < kSteps ? 0.5 : 0)},
          color_of(1 - (i + 0.5) / kSteps));
    drawing.outline({x, top_, kBar, height}, {.thickness = 0.7});
    for (const int mark : {0, 25, 50, 75, 100})
      drawing.text({x + kBar + 4, top_ + height * (100 - mark) / 100},
                   fmt::format("{}%", mark),
                   {.size = 10, .color = kSoftInk, .anchor = Anchor::middle});
    drawing.text({x, top_ + height + 8}, "of the row", {.size = 10, .color = kSoftInk});
  }

  const ConfusionFigure& figure_;
  std::size_t classes_;
  Scale scale_;
  double side_ = 0, widest_ = 0, left_ = 0, top_ = 0;
  bool turned_ = false;
  std::vector<std::int64_t> seen_;
};

}  // namespace

Drawing confusion_matrix_figure(const ConfusionFigure& figure) {
  const std::size_t classes = figure.classes.size();
  check<UsageError>(classes > 0 && figure.counts.size() == classes * classes &&
                        (figure.seen.empty() || figure.seen.size() == classes),
                    "a confusion matrix of {} classes needs {} counts, not {}, and {} sums, not {}",
                    classes,
                    classes * classes,
                    figure.counts.size(),
                    classes,
                    figure.seen.size());
  return ConfusionDrawing(figure).draw();
}

}  // namespace learn::plot
