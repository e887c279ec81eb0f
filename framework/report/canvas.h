#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace learn::plot {

struct Color {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;
};

/// In pixels from the top left corner; centres of pixels lie at halves.
struct Point {
  double x = 0;
  double y = 0;
};

/// A image to draw on: rectangles, smooth lines and discs, text in a 5x7 bitmap font. What falls
/// outside is cut off.
class Canvas {
 public:
  /// Filled with white.
  Canvas(int width, int height);
  [[nodiscard]] int width() const noexcept { return width_; }
  [[nodiscard]] int height() const noexcept { return height_; }
  [[nodiscard]] Color pixel(int x, int y) const;

  void fill(int x, int y, int width, int height, Color color);
  /// A line through all points, `thickness` pixels wide, with smooth edges. Where it crosses itself
  /// it does not get darker.
  void polyline(std::span<const Point> points, double thickness, Color color, double opacity = 1);
  void disc(Point center, double radius, Color color);
  /// `x`, `y`: top left corner. Each dot of the font becomes `scale` x `scale` pixels.
  void text(int x, int y, std::string_view text, int scale, Color color);
  [[nodiscard]] static int text_width(std::string_view text, int scale) noexcept;

  /// Throws IoError.
  void save(const std::filesystem::path& path) const;

 private:
  void blend(int x, int y, Color color, double opacity);

  int width_;
  int height_;
  std::vector<std::uint8_t> rgb_;
};

}  // namespace learn::plot
