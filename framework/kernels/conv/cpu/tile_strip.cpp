#include "framework/kernels/conv/cpu/tile_strip.h"

namespace learn::cpu {
namespace {

struct Range {
  std::int64_t low, high;
};

Range offsets(const TileAxis& axis) {
  const auto less = [](const TileAxis::Tap& a, const TileAxis::Tap& b) {
    return a.offset < b.offset;
  };
  const auto [low, high] = std::minmax_element(axis.taps.begin(), axis.taps.end(), less);
  return {low->offset, high->offset};
}

}  // namespace

TileStrip::TileStrip(const TileAxis& rows, const TileAxis& columns) {
  const Range r = offsets(rows);
  const Range c = offsets(columns);
  low_row = r.low;
  low_column = c.low;
  more_rows = r.high - r.low;
  more_columns = c.high - c.low;
  width = columns.count + more_columns;
}

std::vector<ResultRange> cut_grid(const TileGrid& grid,
                                  const std::optional<TileStrip>& strip,
                                  std::int64_t gathered) {
  std::vector<ResultRange> ranges;
  if (!strip) {
    for (std::int64_t i = 0; i < grid.results(); i += gathered)
      ranges.push_back({i, std::min(grid.results(), i + gathered)});
    return ranges;
  }
  const std::int64_t height = grid.rows.count;
  const std::int64_t width = grid.columns.count;
  const std::int64_t rows = std::max<std::int64_t>(1, kStripResults / strip->width);
  const std::int64_t parts = ceil_div(height, rows);
  for (std::int64_t n = 0; n < grid.images; ++n)
    for (std::int64_t part = 0; part < parts; ++part)
      ranges.push_back({(n * height + height * part / parts) * width,
                        (n * height + height * (part + 1) / parts) * width});
  return ranges;
}

void copy_strip(const simd::TileKernels& kernels,
                const TileStrip& strip,
                const TileGrid& grid,
                const TileSource& source,
                std::int64_t image,
                std::int64_t begin,
                std::int64_t end,
                std::int64_t first_channel,
                std::int64_t channels,
                simd::Bf16Bits* to) {
  const std::int64_t height = grid.rows.source_extent;
  const std::int64_t width = grid.columns.source_extent;
  // The columns [first, last) of the source are in the copy.
  const std::int64_t first = std::clamp<std::int64_t>(strip.low_column, 0, width);
  const std::int64_t last = std::clamp<std::int64_t>(strip.low_column + strip.width, first, width);
  const std::int64_t before = (first - strip.low_column) * channels;
  const std::int64_t inside = (last - first) * channels;
  const std::int64_t after = strip.width * channels - before - inside;
  for (std::int64_t i = begin; i < end + strip.more_rows; ++i) {
    const std::int64_t h = i + strip.low_row;
    if (h < 0 || h >= height || inside == 0) {
      to = std::fill_n(to, strip.width * channels, simd::Bf16Bits{0});
      continue;
    }
    to = std::fill_n(to, before, simd::Bf16Bits{0});
    kernels.copy_rows(
        source.data + ((image * height + h) * width + first) * source.channels + first_channel,
        source.channels,
        to,
        channels,
        last - first,
        channels);
    to = std::fill_n(to + inside, after, simd::Bf16Bits{0});
  }
}

}  // namespace learn::cpu
