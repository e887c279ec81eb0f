#include "framework/kernels/common/cpu/simd/tile_moves.h"

#include <immintrin.h>

namespace learn::cpu::simd {
namespace {

/// The configuration of the tiles: 16 rows of 64 bytes each, in Intel's layout.
struct alignas(64) TileConfig {
  unsigned char palette = 1;
  unsigned char start_row = 0;
  unsigned char reserved[14] = {};
  unsigned short bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  unsigned char rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// Computes sums of `kRowTiles` x `kColumnTiles` tiles, starting with row i and column j. Registers
/// are fixed: 0 to 3 hold the sums, 4 and 5 the left factor, 6 and 7 the right.
template <int kRowTiles, int kColumnTiles>
void multiply_tiles(const TileProduct& p, std::int64_t i, std::int64_t j) {
  constexpr bool kTwoRows = kRowTiles == 2;
  constexpr bool kTwoColumns = kColumnTiles == 2;
  const std::int64_t a_bytes = p.a_stride * static_cast<std::int64_t>(sizeof(Bf16Bits));
  const std::int64_t b_bytes = p.b_stride * static_cast<std::int64_t>(sizeof(Bf16Bits));
  const std::int64_t c_bytes = p.c_stride * static_cast<std::int64_t>(sizeof(float));
  const Bf16Bits* const a = p.a + i * p.a_stride;
  const Bf16Bits* const b = p.b + j / kTilePanel * p.b_panel;
  float* const c = p.c + i * p.c_stride + j;
  float* const c_below = c + kTile * p.c_stride;
  if (p.accumulate) {
    _tile_loadd(0, c, c_bytes);
    if constexpr (kTwoColumns) _tile_loadd(1, c + kTile, c_bytes);
    if constexpr (kTwoRows) _tile_loadd(2, c_below, c_bytes);
    if constexpr (kTwoRows && kTwoColumns) _tile_loadd(3, c_below + kTile, c_bytes);
  } else {
    _tile_zero(0);
    if constexpr (kTwoColumns) _tile_zero(1);
    if constexpr (kTwoRows) _tile_zero(2);
    if constexpr (kTwoRows && kTwoColumns) _tile_zero(3);
  }
  for (const TileRun* run = p.runs; run != p.runs + p.run_count; ++run) {
    const Bf16Bits* left = a + run->a;
    const Bf16Bits* left_below = left + kTile * p.a_stride;
    const Bf16Bits* right = b + run->b / 2 * p.b_stride;
    for (std::int64_t k = 0; k < run->depth; k += kTileDepth) {
      _tile_loadd(6, right, b_bytes);
      _tile_loadd(4, left, a_bytes);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (kTwoColumns) {
        _tile_loadd(7, right + 2 * kTile, b_bytes);
        _tile_dpbf16ps(1, 4, 7);
      }
      if constexpr (kTwoRows) {
        _tile_loadd(5, left_below, a_bytes);
        _tile_dpbf16ps(2, 5, 6);
        if constexpr (kTwoColumns) _tile_dpbf16ps(3, 5, 7);
      }
      left += kTileDepth;
      left_below += kTileDepth;
      right += kTileDepth / 2 * p.b_stride;
    }
  }
  _tile_stored(0, c, c_bytes);
  if constexpr (kTwoColumns) _tile_stored(1, c + kTile, c_bytes);
  if constexpr (kTwoRows) _tile_stored(2, c_below, c_bytes);
  if constexpr (kTwoRows && kTwoColumns) _tile_stored(3, c_below + kTile, c_bytes);
}

void multiply(const TileProduct& p) {
  static constexpr TileConfig kConfig;
  _tile_loadconfig(&kConfig);
  for (std::int64_t j = 0; j < p.columns; j += kTilePanel) {
    const bool two_columns = p.columns - j > kTile;
    std::int64_t i = 0;
    for (; i + 2 * kTile <= p.rows; i += 2 * kTile)
      (two_columns ? multiply_tiles<2, 2> : multiply_tiles<2, 1>)(p, i, j);
    if (i < p.rows) (two_columns ? multiply_tiles<1, 2> : multiply_tiles<1, 1>)(p, i, j);
  }
  // Once the tiles are released, a thread switch need not save their 8 kB.
  _tile_release();
}

}  // namespace

const TileKernels& amx_kernels() {
  static const TileKernels kernels = with_avx512_moves("AMX", true, multiply);
  return kernels;
}

}  // namespace learn::cpu::simd
