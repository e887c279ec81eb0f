#include "framework/report/canvas.h"

#include "framework/report/font5x7.h"
#include "framework/report/png.h"

#include <algorithm>
#include <cmath>

namespace learn::plot {
namespace {

/// Distance from `p` to the segment a-b.
double distance(Point p, Point a, Point b) {
  const Point ab{b.x - a.x, b.y - a.y};
  const double length2 = ab.x * ab.x + ab.y * ab.y;
  const double along = length2 == 0 ? 0 : ((p.x - a.x) * ab.x + (p.y - a.y) * ab.y) / length2;
  const double t = std::clamp(along, 0.0, 1.0);
  return std::hypot(p.x - a.x - t * ab.x, p.y - a.y - t * ab.y);
}

}  // namespace

Canvas::Canvas(int width, int height)
    : width_(width),
      height_(height),
      rgb_(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height), 255) {}

Color Canvas::pixel(int x, int y) const {
  const auto at = 3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                       static_cast<std::size_t>(x));
  return {rgb_.at(at), rgb_.at(at + 1), rgb_.at(at + 2)};
}

void Canvas::blend(int x, int y, Color color, double opacity) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_ || opacity <= 0) return;
  auto* pixel = &rgb_[3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                           static_cast<std::size_t>(x))];
  const auto mix = [opacity](std::uint8_t& below, std::uint8_t above) {
    below =
        static_cast<std::uint8_t>(std::lround(below + (above - below) * std::min(opacity, 1.0)));
  };
  mix(pixel[0], color.r);
  mix(pixel[1], color.g);
  mix(pixel[2], color.b);
}

void Canvas::fill(int x, int y, int width, int height, Color color) {
  for (int row = y; row < y + height; ++row)
    for (int column = x; column < x + width; ++column) blend(column, row, color, 1);
}

void Canvas::polyline(std::span<const Point> points,
                      double thickness,
                      Color color,
                      double opacity) {
  if (points.empty()) return;
  const double reach = thickness / 2 + 1;
  // Coverage is collected as a maximum over the segments first, so that joints are not drawn twice.
  std::vector<float> coverage(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_),
                              0);
  for (std::size_t i = 0; i + 1 < points.size() || i == 0; ++i) {
    const Point a = points[i];
    const Point b = points[std::min(i + 1, points.size() - 1)];
    const auto clip = [](double v, int limit) {
      return static_cast<int>(std::clamp<double>(v, 0, limit));
    };
    const int left = clip(std::min(a.x, b.x) - reach, width_);
    const int right = clip(std::max(a.x, b.x) + reach + 1, width_);
    const int top = clip(std::min(a.y, b.y) - reach, height_);
    const int bottom = clip(std::max(a.y, b.y) + reach + 1, height_);
    for (int y = top; y < bottom; ++y)
      for (int x = left; x < right; ++x) {
        const double away = distance({x + 0.5, y + 0.5}, a, b);
        auto& covered = coverage[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                                 static_cast<std::size_t>(x)];
        covered =
            std::max(covered, static_cast<float>(std::clamp(thickness / 2 + 0.5 - away, 0.0, 1.0)));
      }
  }
  for (int y = 0; y < height_; ++y)
    for (int x = 0; x < width_; ++x)
      blend(x,
            y,
            color,
            opacity * static_cast<double>(
                          coverage[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                                   static_cast<std::size_t>(x)]));
}

void Canvas::disc(Point center, double radius, Color color) {
  for (int y = static_cast<int>(center.y - radius - 1); y <= center.y + radius + 1; ++y)
    for (int x = static_cast<int>(center.x - radius - 1); x <= center.x + radius + 1; ++x)
      blend(x, y, color, radius + 0.5 - std::hypot(x + 0.5 - center.x, y + 0.5 - center.y));
}

void Canvas::text(int x, int y, std::string_view text, int scale, Color color) {
  for (const char c : text) {
    const auto& columns = glyph(c);
    for (int column = 0; column < kGlyphWidth; ++column)
      for (int row = 0; row <= kGlyphHeight; ++row)
        if ((columns[static_cast<std::size_t>(column)] >> row & 1) != 0)
          fill(x + column * scale, y + row * scale, scale, scale, color);
    x += (kGlyphWidth + 1) * scale;
  }
}

int Canvas::text_width(std::string_view text, int scale) noexcept {
  return text.empty() ? 0 : (static_cast<int>(text.size()) * (kGlyphWidth + 1) - 1) * scale;
}

void Canvas::save(const std::filesystem::path& path) const {
  write_png(path, width_, height_, rgb_);
}

}  // namespace learn::plot
