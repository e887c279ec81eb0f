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

/// From the top left corner, in units of which an SVG has 96 to the inch, and a PNG `scale` pixels
/// to each.
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

/// Where the point that a text is given lies in it.
enum class Align : std::uint8_t { left, center, right };
enum class Anchor : std::uint8_t { top, middle, bottom };

struct TextStyle {
  double size = 12;  ///< of the font
  bool bold = false;
  Color color = kInk;
  Align align = Align::left;
  Anchor anchor = Anchor::top;
  double width = 0;         ///< what is wider is wrapped, and cut in the last line; 0: no limit
  int lines = 1;            ///< at most so many, if there is a width
  bool cut_middle = false;  ///< what is too long loses its middle and not its end
  bool upward = false;      ///< turned by a quarter: it is read from the bottom to the top
};

struct Stroke {
  double thickness = 1;
  Color color = kInk;
  double opacity = 1;
  std::vector<double> dashes;  ///< lengths of dashes and gaps in turn; empty: a line without gaps
};

/// Pixels to the unit of a PNG, so that it is sharp on displays of twice the density.
inline constexpr double kPngScale = 2;

/// A drawing of lines, areas, images and text, on white. It keeps what was drawn, in order, and is
/// rendered as pixels or vectors later. Text is in DejaVu Sans, or what sans-serif font there is; a
/// letter that the font lacks comes from another one. What falls outside is cut off.
///
/// The same drawing is rendered to the same bytes, with the same fonts and version of Cairo.
class Drawing {
 public:
  /// `title` is for readers of an SVG that cannot see it. Throws UsageError unless both extents are
  /// positive.
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
  /// Through all points. One point alone is a dot.
  void polyline(std::span<const Point> points, const Stroke& stroke);
  void disc(Point center, double radius, Color color, double opacity = 1);
  /// Fills the box. A small image is enlarged to squares, a large one is averaged.
  void image(const Box& box, const Image& image);
  /// `at` is where `style` says. What is not UTF-8 is shown as a replacement character. Returns the
  /// size that it takes.
  Size text(Point at, std::string_view text, const TextStyle& style);
  [[nodiscard]] static Size measure(std::string_view text, const TextStyle& style);
  /// What is drawn until the next call is cut off outside of the box; `unclip` ends that.
  void clip(const Box& box);
  void unclip();

  /// All texts, in the order they were drawn.
  [[nodiscard]] const std::vector<std::string>& texts() const;

  /// Throws UsageError for a scale that is not positive, and for more than 32767 pixels to a side.
  [[nodiscard]] Image render(double scale = kPngScale) const;
  /// Letters are outlines; `<title>` and `<desc>` hold the texts.
  [[nodiscard]] std::string svg() const;
  /// Writes a .png or .svg, atomically. Throws UsageError for another ending, and as `render`;
  /// IoError.
  void save(const std::filesystem::path& path, double scale = kPngScale) const;

 private:
  struct Impl;
  /// Throws std::logic_error if this one was moved from.
  [[nodiscard]] Impl& impl() const;

  std::unique_ptr<Impl> impl_;
};

/// Throws UsageError unless the name ends in .png or .svg, and IoError unless its folder is there,
/// so that a long computation does not end with it.
void check_drawing_path(const std::filesystem::path& path);

}  // namespace learn::plot
