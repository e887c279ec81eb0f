#include "framework/drawing/legend.h"

#include <algorithm>
#include <set>

namespace learn::plot {
namespace {

constexpr double kRow = 18;
constexpr double kSample = 22;   // of the line
constexpr double kGap = 6;       // between line and name
constexpr double kBetween = 16;  // entries
constexpr double kMaxName = 260;
constexpr double kDot = 3;

TextStyle name_style(double width) {
  // The end of a long name may be what distinguishes it from others: "runs/...: validation".
  return {.size = 11.5,
          .anchor = Anchor::middle,
          .width = std::min(width, kMaxName),
          .cut_middle = true};
}

}  // namespace

std::vector<std::size_t> colors_of(const Panel& panel) {
  std::set<std::size_t> taken;
  for (const Series& series : panel.series)
    if (series.color) taken.insert(*series.color);
  std::vector<std::size_t> places;
  std::size_t next = 0;
  for (const Series& series : panel.series) {
    if (!series.color)
      while (taken.contains(next)) ++next;
    places.push_back(series.color ? *series.color : next++);
  }
  return places;
}

std::vector<Look> looks_of(const Panel& panel) {
  const std::vector<std::size_t> places = colors_of(panel);
  std::vector<Look> looks;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Series& series = panel.series[i];
    const Color color = palette(places[i]);
    Stroke stroke{.thickness = series.faint ? 1.0 : 1.8, .color = color};
    if (series.faint) stroke.opacity = 0.35;
    // From kPaletteColors on, colours repeat.
    const bool again = places[i] >= kPaletteColors;
    if (series.dashed)
      stroke.dashes = again ? std::vector<double>{6, 2, 1.5, 2} : std::vector<double>{6, 3};
    else if (again)
      stroke.dashes = {2, 2.5};
    looks.push_back({color, stroke});
  }
  return looks;
}

Legend::Legend(const Panel& panel, double width) : width_(width) {
  const std::vector<Look> looks = looks_of(panel);
  double x = 0;
  for (std::size_t i = 0; i < panel.series.size(); ++i) {
    const Series& series = panel.series[i];
    if (series.name.empty()) continue;
    const double name = Drawing::measure(series.name, name_style(width - kSample - kGap)).width;
    const double wide = kSample + kGap + name;
    if (rows_ == 0 || x + wide > width) {
      ++rows_;
      x = 0;
    }
    entries_.push_back({&series, looks[i], {x, (rows_ - 0.5) * kRow}});
    x += wide + kBetween;
  }
}

double Legend::height() const noexcept { return rows_ * kRow; }

void Legend::draw(Drawing& drawing, Point top_left) const {
  for (const Entry& entry : entries_) {
    const double x = top_left.x + entry.at.x, y = top_left.y + entry.at.y;
    Stroke sample = entry.look.stroke;
    if (entry.series->faint) sample.thickness = 3;  // a thin pale line is hard to see
    const std::vector<Point> line{{x, y}, {x + kSample, y}};
    drawing.polyline(line, sample);
    if (entry.series->markers) drawing.disc({x + kSample / 2, y}, kDot, entry.look.color);
    drawing.text({x + kSample + kGap, y}, entry.series->name, name_style(width_ - kSample - kGap));
  }
}

}  // namespace learn::plot
