#pragma once
#include "framework/drawing/color.h"
#include "framework/drawing/image.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace learn::plot {

/// A position relative to the top left corner. An SVG has 96 units to the inch; a PNG has `scale`
/// pixels per unit.
struct Point {
  double x = 0;
  double y = 0;
};
struct Size {
  double width = 0;
  double height = 0;
};
struct Box {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
  [[nodiscard]] double right() const noexcept { return left + width; }
  [[nodiscard]] double bottom() const noexcept { return top + height; }
  [[nodiscard]] Point center() const noexcept { return {left + width / 2, top + height / 2}; }
};

/// Position of a text relative to its anchor point.
enum class Align : std::uint8_t { left, center, right };
enum class Anchor : std::uint8_t { top, middle, bottom };

struct TextStyle {
  double size = 12;  ///< font size
  bool bold = false;
  Color color = kInk;
  Align align = Align::left;
  Anchor anchor = Anchor::top;
  double width = 0;         ///< wider text is wrapped, and truncated in the last line; 0: unlimited
  int lines = 1;            ///< maximum number of lines, if there is a width
  bool cut_middle = false;  ///< text that is too long loses its middle instead of its end
  bool upward = false;      ///< rotated by 90 degrees: it reads from bottom to top
};

struct Stroke {
  double thickness = 1;
  Color color = kInk;
  double opacity = 1;
  std::vector<double> dashes;  ///< lengths of dashes and gaps in turn; empty: a solid line
};

/// Pixels per unit of a PNG, so that it is sharp on displays of twice the density.
inline constexpr double kPngScale = 2;

/// A drawing of lines, areas, images and text on white. It stores what was drawn, in order, and is
/// rendered later as pixels or vectors. Text is in DejaVu Sans, or in the available sans-serif
/// font; a letter missing from the font comes from another one. Content outside the drawing is
/// clipped.
///
/// A drawing always renders to the same bytes with the same fonts and version of Cairo.
class Drawing {
 public:
  /// `title` is the text alternative in an SVG. Throws UsageError unless both extents are positive.
  Drawing(double width, double height, std::string title = "");
  ~Drawing();
  Drawing(Drawing&&) noexcept;
  Drawing& operator=(Drawing&&) noexcept;
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;

  [[nodiscard]] double width() const;
  [[nodiscard]] double height() const;

  void fill(const Box& box, Color color, double opacity = 1);
  void outline(const Box& box, const Stroke& stroke);
  /// Draws a line through all points. A single point becomes a dot.
  void polyline(std::span<const Point> points, const Stroke& stroke);
  void disc(Point center, double radius, Color color, double opacity = 1);
  /// Fills the box. A small image is enlarged to squares, a large one is averaged.
  void image(const Box& box, const Image& image);
  /// Draws text, placed at `at` as `style` defines. Invalid UTF-8 is shown as a replacement
  /// character. Returns the size of the text.
  Size text(Point at, std::string_view text, const TextStyle& style);
  [[nodiscard]] static Size measure(std::string_view text, const TextStyle& style);
  /// Clips all further drawing to the box, until `unclip`.
  void clip(const Box& box);
  void unclip();

  /// Returns all texts in the order they were drawn.
  [[nodiscard]] const std::vector<std::string>& texts() const;

  /// Renders to pixels. Throws UsageError if the scale is not positive, or a side exceeds 32767
  /// pixels.
  [[nodiscard]] Image render(double scale = kPngScale) const;
  /// Renders to SVG. Letters are outlines; `<title>` and `<desc>` hold the texts.
  [[nodiscard]] std::string svg() const;
  /// Writes a .png or .svg, atomically. Throws UsageError for another ending, and as `render` does;
  /// IoError.
  void save(const std::filesystem::path& path, double scale = kPngScale) const;

 private:
  struct Impl;
  /// Throws std::logic_error if this one was moved from.
  [[nodiscard]] Impl& impl() const;

  std::unique_ptr<Impl> impl_;
};

/// Checks the path of a drawing before a long computation. Throws UsageError unless the name ends
/// in .png or .svg, and IoError unless its folder exists.
void check_drawing_path(const std::filesystem::path& path);

}  // namespace learn::plot
