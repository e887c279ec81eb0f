#pragma once
#include "framework/drawing/drawing.h"

#include <string>
#include <vector>

namespace learn::plot {

/// A line under an image; what is too long for it loses its middle, so that a probability at its
/// end stays.
struct CaptionLine {
  std::string text;
  Color color = kInk;
  bool bold = false;
};

/// An image with its caption, or several that belong together, beside each other.
struct GridCell {
  std::vector<Image> images;
  std::vector<CaptionLine> caption;
  /// Where the image is to be found: the path of its file. A drawing shows the last part of it
  /// under the caption, a page all of it.
  std::string source = "";
};

struct ImageGrid {
  std::string title;
  std::string subtitle = "";  ///< what is to be said about all of them
  std::vector<GridCell> cells;
  int columns = 0;  ///< 0: about a square, and no wider than a page
  /// Of the longer side of an image, about; they get larger beside wide captions.
  double image_side = 96;
};

/// The cells row by row, all as large as the largest. Small images are enlarged to squares, large
/// ones reduced. Throws UsageError for an image whose size does not fit its pixels.
[[nodiscard]] Drawing image_grid(const ImageGrid& grid);

}  // namespace learn::plot
