#pragma once
#include "framework/kernels/conv/cpu/tile_gather.h"

#include <optional>

namespace learn::cpu {

/// Neighbouring rows of one image, copied with zeros around them so that every tap of a result is
/// at a fixed distance from it. Result (row, column) is number row * width + column, and its tap is
/// `offset(tap, tap)` pixels further. The results of columns beyond the grid are unused. In return,
/// no copy per tap is needed.
struct TileStrip {
  std::int64_t low_row, low_column;  ///< the least offsets of taps
  std::int64_t more_rows;            ///< rows that taps read beyond the results' rows
  std::int64_t more_columns;
  std::int64_t width;

  TileStrip(const TileAxis& rows, const TileAxis& columns);

  /// Returns whether the results are so close together that their taps are neighbours, and enough
  /// of them are used.
  [[nodiscard]] static bool pays(const TileAxis& rows, const TileAxis& columns) {
    return rows.source_step == 1 && columns.source_step == 1 && !rows.taps.empty() &&
           !columns.taps.empty() && columns.count >= simd::kTile;
  }

  [[nodiscard]] std::int64_t offset(const TileAxis::Tap& row, const TileAxis::Tap& column) const {
    return (row.offset - low_row) * width + column.offset - low_column;
  }
  /// Returns the number of pixels that results [0, rows * width), plus `more` to fill up, read.
  [[nodiscard]] std::int64_t pixels(std::int64_t rows, std::int64_t more) const {
    return (rows + more_rows) * width + more_columns + more;
  }
};

/// A range of results of a grid. With a strip, it consists of whole rows of one image.
struct ResultRange {
  std::int64_t begin, end;
};

/// Cuts the results into ranges of about kStripResults if they are taken from a strip, otherwise of
/// `gathered`.
inline constexpr std::int64_t kStripResults = 544;  ///< 16 rows of 32 pixels and their padding
[[nodiscard]] std::vector<ResultRange> cut_grid(const TileGrid& grid,
                                                const std::optional<TileStrip>& strip,
                                                std::int64_t gathered);

/// Copies what the given rows of results of image `image` read to `to` (pixels, channels):
/// `channels` of every pixel, starting with `first_channel`. Memory after the last row is left
/// unchanged.
void copy_strip(const simd::TileKernels& kernels,
                const TileStrip& strip,
                const TileGrid& grid,
                const TileSource& source,
                std::int64_t image,
                std::int64_t begin,
                std::int64_t end,
                std::int64_t first_channel,
                std::int64_t channels,
                simd::Bf16Bits* to);

}  // namespace learn::cpu
