#pragma once
#include "framework/kernels/conv/cpu/tile_gather.h"

#include <optional>

namespace learn::cpu {

/// Neighbouring rows of one image, copied with zeros around them so that every tap of a result is
/// a fixed distance away from it: result (row, column) is number row * width + column, its tap
/// `offset(tap, tap)` pixels further. The results of columns beyond the grid's are of no use: that
/// is the price for needing no copy per tap.
struct TileStrip {
  std::int64_t low_row, low_column;  ///< the least offsets of taps
  std::int64_t more_rows;            ///< that taps see beyond the results'
  std::int64_t more_columns;
  std::int64_t width;

  TileStrip(const TileAxis& rows, const TileAxis& columns);

  /// Whether the results lie so close that their taps are neighbours, and not too few are of use.
  [[nodiscard]] static bool pays(const TileAxis& rows, const TileAxis& columns) {
    return rows.source_step == 1 && columns.source_step == 1 && !rows.taps.empty() &&
           !columns.taps.empty() && columns.count >= simd::kTile;
  }

  [[nodiscard]] std::int64_t offset(const TileAxis::Tap& row, const TileAxis::Tap& column) const {
    return (row.offset - low_row) * width + column.offset - low_column;
  }
  /// How many pixels results [0, rows * width), filled up by `more`, read.
  [[nodiscard]] std::int64_t pixels(std::int64_t rows, std::int64_t more) const {
    return (rows + more_rows) * width + more_columns + more;
  }
};

/// Results of a grid; with a strip whole rows of one image.
struct ResultRange {
  std::int64_t begin, end;
};

/// Cuts the results into ranges: of about kStripResults if they are taken from a strip, else of
/// `gathered`.
inline constexpr std::int64_t kStripResults = 544;  ///< 16 rows of 32 pixels and their padding
[[nodiscard]] std::vector<ResultRange> cut_grid(const TileGrid& grid,
                                                const std::optional<TileStrip>& strip,
                                                std::int64_t gathered);

/// Copies the pixels that the results of rows [begin, end) of image `image` read, `channels` of
/// every pixel from `first_channel` on, to `to` (pixels, channels). The memory after the last row
/// is unchanged.
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
