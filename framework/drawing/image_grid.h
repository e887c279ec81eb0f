#pragma once
#include "framework/drawing/drawing.h"

#include <string>
#include <vector>

namespace learn::plot {

/// A line under an image. Text that is too long loses its middle, so that a probability at its end
/// remains.
struct CaptionLine {
  std::string text;
  Color color = kInk;
  bool bold = false;
};

/// An image with its caption, or several related images next to each other.
struct GridCell {
  std::vector<Image> images;
  std::vector<CaptionLine> caption;
  /// The path of the image's file. A drawing shows its last part under the caption, a page all of
  /// it.
  std::string source = "";
};

struct ImageGrid {
  std::string title;
  std::string subtitle = "";  ///< applies to all images
  std::vector<GridCell> cells;
  int columns = 0;  ///< 0: about square, and no wider than a page
  /// Approximate length of an image's longer side; images get larger next to wide captions.
  double image_side = 96;
};

/// Draws the cells row by row, all as large as the largest. Small images are enlarged to squares,
/// large ones reduced. Throws UsageError for an image whose size does not match its pixels.
[[nodiscard]] Drawing image_grid(const ImageGrid& grid);

}  // namespace learn::plot
