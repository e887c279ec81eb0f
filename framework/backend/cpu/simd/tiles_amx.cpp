#include "framework/backend/cpu/simd/tiles.h"

#include <immintrin.h>

namespace learn::backend::cpu::simd {
namespace {

/// Every tile 16 rows of 64 bytes. The layout is Intel's.
struct alignas(64) TileConfig {
  unsigned char palette = 1;
  unsigned char start_row = 0;
  unsigned char reserved[14] = {};
  unsigned short bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  unsigned char rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

/// Sums of `kRowTiles` x `kColumnTiles` tiles from row i and column j on. Registers have no
/// variable names: 0 to 3 hold the sums, 4 and 5 the left factor, 6 and 7 the right.
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
  // Without live tiles a change of the thread need not save their 8 kB.
  _tile_release();
}

/// The first `n` of 16 or 32 elements.
inline __mmask16 first16(std::int64_t n) {
  return static_cast<__mmask16>(n >= 16 ? 0xFFFFU : n <= 0 ? 0U : (1U << n) - 1U);
}
inline __mmask32 first32(std::int64_t n) {
  return n >= 32 ? 0xFFFFFFFFU : n <= 0 ? 0U : (1U << n) - 1U;
}

void copy_rows(const Bf16Bits* from,
               std::int64_t from_stride,
               Bf16Bits* to,
               std::int64_t to_stride,
               std::int64_t rows,
               std::int64_t length) {
  if (from_stride == length && to_stride == length) {
    length *= rows;
    rows = rows > 0 ? 1 : 0;
  }
  const std::int64_t whole = length / 32 * 32;
  const __mmask32 rest = first32(length - whole);
  for (std::int64_t i = 0; i < rows; ++i, from += from_stride, to += to_stride) {
    for (std::int64_t j = 0; j < whole; j += 32)
      _mm512_storeu_si512(to + j, _mm512_loadu_si512(from + j));
    if (rest != 0)
      _mm512_mask_storeu_epi16(to + whole, rest, _mm512_maskz_loadu_epi16(rest, from + whole));
  }
}

using Words [[gnu::vector_size(64)]] = std::uint32_t;
using Elements [[gnu::vector_size(32)]] = Bf16Bits;

/// Pairs (low[i], high[i]) of 16 elements.
inline Words interleave(__m256i low, __m256i high) {
  return __builtin_convertvector(reinterpret_cast<Elements>(low), Words) |
         __builtin_convertvector(reinterpret_cast<Elements>(high), Words) << 16U;
}

inline void store_words(Bf16Bits* to, Words words) {
  _mm512_storeu_si512(to, reinterpret_cast<__m512i>(words));
}

void pair_rows(const Bf16Bits* from,
               std::int64_t from_stride,
               std::int64_t rows,
               std::int64_t columns,
               Bf16Bits* to,
               std::int64_t to_stride) {
  for (std::int64_t i = 0; i < rows; i += 2, to += to_stride) {
    const Bf16Bits* even = from + i * from_stride;
    const bool paired = i + 1 < rows;
    const Bf16Bits* odd = paired ? even + from_stride : even;
    for (std::int64_t j = 0; j < columns; j += kTile) {
      const __mmask16 present = first16(columns - j);
      store_words(to + 2 * j,
                  interleave(_mm256_maskz_loadu_epi16(present, even + j),
                             _mm256_maskz_loadu_epi16(paired ? present : __mmask16{0}, odd + j)));
    }
  }
}

/// 16 rows of 16 elements of 32 bits. Merging rows i and i + 8 rotates the bits of every element's
/// place (row, column) by one; after four of eight, rows are columns.
inline void transpose16(Words (&r)[16]) {
#pragma GCC unroll 4
  for (int round = 0; round < 4; ++round) {
    Words merged[16];
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < 8; ++i) {
      merged[2 * i] = __builtin_shufflevector(
          r[i], r[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      merged[2 * i + 1] = __builtin_shufflevector(
          r[i], r[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < 16; ++i) r[i] = merged[i];
  }
}

void pair_columns(const Bf16Bits* from,
                  std::int64_t from_stride,
                  std::int64_t rows,
                  std::int64_t columns,
                  Bf16Bits* to,
                  std::int64_t to_stride) {
  for (std::int64_t k = 0; k < rows; k += kTileDepth) {
    const __mmask32 deep = first32(rows - k);
    const std::int64_t pairs = (rows - k + 1) / 2 < kTile ? (rows - k + 1) / 2 : kTile;
    for (std::int64_t j = 0; j < columns; j += kTile) {
      Words block[16];
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < kTile; ++i) {
        const bool present = j + i < columns;
        block[i] = reinterpret_cast<Words>(_mm512_maskz_loadu_epi16(
            present ? deep : 0U, from + (present ? (j + i) * from_stride + k : 0)));
      }
      transpose16(block);
      for (std::int64_t i = 0; i < pairs; ++i)
        store_words(to + (k / 2 + i) * to_stride + 2 * j, block[i]);
    }
  }
}

void transpose(const Bf16Bits* from,
               std::int64_t from_stride,
               std::int64_t rows,
               std::int64_t columns,
               Bf16Bits* to,
               std::int64_t to_stride) {
  for (std::int64_t r = 0; r < rows; r += kTileDepth)
    for (std::int64_t c = 0; c < columns; c += kTile) {
      const __mmask16 wide = first16(columns - c);
      const auto row = [&](std::int64_t i) {
        const bool present = r + i < rows;
        return _mm256_maskz_loadu_epi16(present ? wide : __mmask16{0},
                                        from + (present ? (r + i) * from_stride + c : 0));
      };
      Words block[16];
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < kTile; ++i) block[i] = interleave(row(2 * i), row(2 * i + 1));
      transpose16(block);
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < kTile; ++i) store_words(to + (c + i) * to_stride + r, block[i]);
    }
}

}  // namespace

const TileKernels& amx_kernels() {
  static constexpr TileKernels kKernels{
      .multiply = multiply,
      .copy_rows = copy_rows,
      .pair_rows = pair_rows,
      .pair_columns = pair_columns,
      .transpose = transpose,
  };
  return kKernels;
}

}  // namespace learn::backend::cpu::simd
