#include "framework/drawing/image_grid.h"

#include <algorithm>
#include <cmath>

namespace learn::plot {
namespace {

constexpr double kMargin = 16;
constexpr double kBetweenCells = 14;
constexpr double kBetweenImages = 3;  // within a cell
constexpr double kLine = 15;
constexpr double kCaptionSize = 11;
constexpr double kTitleLine = 24;
constexpr double kSubtitleLine = 18;
constexpr double kPageWidth = 1120;
constexpr double kMinCell = 84;      // or captions become meaningless
constexpr double kMaxCaption = 150;  // the widest caption that widens a cell

/// Returns the displayed size of an image: its longer side is about `side`, and a whole multiple of
/// its pixels if it is enlarged.
Size shown_size(const Image& image, double side) {
  const int longer = std::max({1, image.width, image.height});
  double scale = side / longer;
  if (scale > 1) scale = std::floor(scale * kPngScale + 0.01) / kPngScale;
  return {image.width * scale, image.height * scale};
}

Size images_size(const GridCell& cell, double side) {
  Size all;
  for (const Image& image : cell.images) {
    const Size size = shown_size(image, side);
    all.width += size.width + (all.width > 0 ? kBetweenImages : 0);
    all.height = std::max(all.height, size.height);
  }
  return all;
}

int columns_of(const ImageGrid& grid, const Size& cell) {
  const int count = std::max(1, static_cast<int>(grid.cells.size()));
  if (grid.columns > 0) return std::min(grid.columns, count);
  const int fit = std::max(1, static_cast<int>(kPageWidth / (cell.width + kBetweenCells)));
  const int square = static_cast<int>(std::lround(std::sqrt(count * cell.height / cell.width)));
  // One column more or less may leave fewer gaps in the last row.
  int best = 0, fewest = count + 1;
  for (const int columns : {square, square + 1, square - 1}) {
    const int possible = std::clamp(columns, 1, std::min(fit, count));
    const int gaps = (possible - count % possible) % possible;
    if (gaps < fewest) {
      best = possible;
      fewest = gaps;
    }
  }
  return best;
}

/// Returns the caption of a cell, including the name of its file.
std::vector<CaptionLine> caption_of(const GridCell& cell) {
  std::vector<CaptionLine> lines = cell.caption;
  if (!cell.source.empty())
    lines.push_back({cell.source.substr(cell.source.find_last_of('/') + 1), kSoftInk});
  return lines;
}

TextStyle style_of(const CaptionLine& line) {
  return {.size = kCaptionSize, .bold = line.bold, .color = line.color, .cut_middle = true};
}

/// `room`: the space for all images of a cell, and for its captions.
void draw_cell(
    Drawing& drawing, const GridCell& cell, Point corner, const Size& room, double side) {
  double x = corner.x;
  for (const Image& image : cell.images) {
    const Size size = shown_size(image, side);
    drawing.image({x, corner.y + room.height - size.height, size.width, size.height}, image);
    x += size.width + kBetweenImages;
  }
  double y = corner.y + room.height + 3;
  for (const CaptionLine& line : caption_of(cell)) {
    TextStyle style = style_of(line);
    style.width = room.width;
    drawing.text({corner.x, y}, line.text, style);
    y += kLine;
  }
}

/// Returns the largest size of the images of a cell, if their longer side is about `side`.
Size images_room(const ImageGrid& grid, double side) {
  Size room{kMinCell, 0};
  for (const GridCell& cell : grid.cells) {
    const Size size = images_size(cell, side);
    room = {std::max(room.width, size.width), std::max(room.height, size.height)};
  }
  return room;
}

double caption_width(const ImageGrid& grid) {
  double width = 0;
  for (const GridCell& cell : grid.cells)
    for (const CaptionLine& line : caption_of(cell))
      width = std::max(width, std::ceil(Drawing::measure(line.text, style_of(line)).width) + 1);
  return std::min(width, kMaxCaption);
}

}  // namespace

Drawing image_grid(const ImageGrid& grid) {
  double side = grid.image_side;
  Size room = images_room(grid, side);
  if (const double captions = caption_width(grid); captions > room.width) {
    // Images use the width that captions need, too.
    side = std::floor(side * captions / room.width);
    room = images_room(grid, side);
    room.width = std::max(room.width, captions);
  }
  std::size_t lines = 0;
  for (const GridCell& cell : grid.cells) lines = std::max(lines, caption_of(cell).size());
  const Size cell{room.width, room.height + 3 + static_cast<double>(lines) * kLine};
  const int columns = columns_of(grid, cell);
  const int rows = std::max(1, (static_cast<int>(grid.cells.size()) + columns - 1) / columns);
  const TextStyle title{.size = 15, .bold = true};
  const TextStyle subtitle{.size = 12, .color = kSoftInk};
  const double inside =
      std::max({columns * (cell.width + kBetweenCells) - kBetweenCells,
                std::min(kPageWidth, Drawing::measure(grid.title, title).width),
                std::min(kPageWidth, Drawing::measure(grid.subtitle, subtitle).width)});
  const double head = (grid.title.empty() ? 0 : kTitleLine) +
                      (grid.subtitle.empty() ? 0 : kSubtitleLine) +
                      (grid.title.empty() && grid.subtitle.empty() ? 0 : 4);
  Drawing drawing(inside + 2 * kMargin,
                  2 * kMargin + head + rows * (cell.height + kBetweenCells) - kBetweenCells,
                  grid.title);
  const auto cut = [&](TextStyle style) {
    style.width = inside + 1;
    return style;
  };
  drawing.text({kMargin, kMargin}, grid.title, cut(title));
  drawing.text(
      {kMargin, kMargin + (grid.title.empty() ? 0 : kTitleLine)}, grid.subtitle, cut(subtitle));
  for (std::size_t i = 0; i < grid.cells.size(); ++i) {
    const int column = static_cast<int>(i) % columns, row = static_cast<int>(i) / columns;
    draw_cell(drawing,
              grid.cells[i],
              {kMargin + column * (cell.width + kBetweenCells),
               kMargin + head + row * (cell.height + kBetweenCells)},
              room,
              side);
  }
  return drawing;
}

}  // namespace learn::plot
