#include "framework/kernels/conv/cpu/tile_gather.h"

namespace learn::cpu {
namespace {

void zero_rows(simd::Bf16Bits* to, std::int64_t stride, std::int64_t rows, std::int64_t length) {
  for (std::int64_t i = 0; i < rows; ++i) std::fill_n(to + i * stride, length, simd::Bf16Bits{0});
}

}  // namespace

void gather_pieces(const simd::TileKernels& kernels,
                   const TileGrid& grid,
                   const TileSource& source,
                   const std::vector<TilePiece>& pieces,
                   std::int64_t begin,
                   std::int64_t end,
                   simd::Bf16Bits* to,
                   std::int64_t stride) {
  const std::int64_t height = grid.rows.source_extent;
  const std::int64_t width = grid.columns.source_extent;
  for_segments(grid, begin, end, [&](const GridSegment& s) {
    for (const TilePiece& piece : pieces) {
      simd::Bf16Bits* rows = to + s.at * stride + piece.to;
      const std::int64_t h = s.row * grid.rows.source_step + piece.row.offset;
      const auto [first, last] = grid.columns.inside(piece.column, s.column, s.column + s.length);
      if (h < 0 || h >= height || first >= last) {
        zero_rows(rows, stride, s.length, piece.length);
        continue;
      }
      zero_rows(rows, stride, first - s.column, piece.length);
      const std::int64_t step = grid.columns.source_step;
      const std::int64_t w = first * step + piece.column.offset;
      kernels.copy_rows(
          source.data + ((s.image * height + h) * width + w) * source.channels + piece.channel,
          step * source.channels,
          rows + (first - s.column) * stride,
          stride,
          last - first,
          piece.length);
      zero_rows(
          rows + (last - s.column) * stride, stride, s.column + s.length - last, piece.length);
    }
  });
}

}  // namespace learn::cpu
