#pragma once
#include "framework/kernels/common/cpu/simd/tiles.h"
#include "framework/kernels/conv/cpu/conv_tile_axis.h"

#include <algorithm>

namespace learn::cpu {

/// The results of one class of rows and one class of columns, of all images, numbered row by row.
struct TileGrid {
  std::int64_t images;
  const TileAxis& rows;
  const TileAxis& columns;

  [[nodiscard]] std::int64_t results() const { return images * rows.count * columns.count; }
};

/// Consecutive results within one row of the grid.
struct GridSegment {
  std::int64_t image, row, column, length;
  std::int64_t at;  ///< number of results before it
};

/// Calls `visit(GridSegment)` for the given range of results.
template <class Visit>
void for_segments(const TileGrid& grid, std::int64_t begin, std::int64_t end, Visit&& visit) {
  const std::int64_t width = grid.columns.count;
  const std::int64_t height = grid.rows.count;
  GridSegment s{begin / (width * height), begin / width % height, begin % width, 0, 0};
  for (; begin < end; begin += s.length, s.at += s.length) {
    s.length = std::min(width - s.column, end - begin);
    visit(s);
    s.column = 0;
    if (++s.row < grid.rows.count) continue;
    s.row = 0;
    ++s.image;
  }
}

/// Images (n, rows.source_extent, columns.source_extent, channels) that a grid reads.
struct TileSource {
  const simd::Bf16Bits* data;
  std::int64_t channels;  ///< per pixel, over all groups
};

/// Some channels of one tap and their place in a gathered row.
struct TilePiece {
  TileAxis::Tap row, column;
  std::int64_t channel;  ///< the first, counted over all groups
  std::int64_t length;
  std::int64_t to;
};

/// Fills the rows of `to`, `stride` elements apart, with the pieces of consecutive results. Taps in
/// the padding give zeros.
void gather_pieces(const simd::TileKernels& kernels,
                   const TileGrid& grid,
                   const TileSource& source,
                   const std::vector<TilePiece>& pieces,
                   std::int64_t begin,
                   std::int64_t end,
                   simd::Bf16Bits* to,
                   std::int64_t stride);

}  // namespace learn::cpu
