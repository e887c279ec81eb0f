#include "framework/backend/cpu/simd/tiles.h"

#include <immintrin.h>

namespace learn::backend::cpu::simd {
namespace {

// A panel of the right operand over this depth stays in the first-level cache (32 kB) while the
// rows of the left one pass by.
constexpr std::int64_t kPanelDepth = 512;

/// Every tile 16 rows of 64 bytes. The layout is Intel's.
struct alignas(64) TileConfig {
  unsigned char palette = 1;
  unsigned char start_row = 0;
  unsigned char reserved[14] = {};
  unsigned short bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  unsigned char rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Registers have no variable names: 0 to 3 hold sums, 4 and 5 the left factor, 6 and 7 the right.
template <int kRowTiles, int kColumnTiles>
inline void multiply_tiles(const Bf16Bits* a,
                           std::int64_t a_stride,
                           const Bf16Bits* b,
                           float* c,
                           std::int64_t c_stride,
                           std::int64_t depth,
                           bool accumulate) {
  constexpr bool kTwoRows = kRowTiles == 2;
  constexpr bool kTwoColumns = kColumnTiles == 2;
  constexpr std::int64_t kPanelBytes = 2 * kTilePanel * sizeof(Bf16Bits);
  const std::int64_t a_bytes = a_stride * static_cast<std::int64_t>(sizeof(Bf16Bits));
  const std::int64_t c_bytes = c_stride * static_cast<std::int64_t>(sizeof(float));
  float* const c_below = c + kTile * c_stride;
  const Bf16Bits* a_below = a + kTile * a_stride;
  if (accumulate) {
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
  for (std::int64_t k = 0; k < depth; k += kTileDepth) {
    _tile_loadd(6, b, kPanelBytes);
    _tile_loadd(4, a, a_bytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kTwoColumns) {
      _tile_loadd(7, b + 2 * kTile, kPanelBytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kTwoRows) {
      _tile_loadd(5, a_below, a_bytes);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (kTwoColumns) _tile_dpbf16ps(3, 5, 7);
    }
    a += kTileDepth;
    a_below += kTileDepth;
    b += kTileDepth * kTilePanel;
  }
  _tile_stored(0, c, c_bytes);
  if constexpr (kTwoColumns) _tile_stored(1, c + kTile, c_bytes);
  if constexpr (kTwoRows) _tile_stored(2, c_below, c_bytes);
  if constexpr (kTwoRows && kTwoColumns) _tile_stored(3, c_below + kTile, c_bytes);
}

void multiply(const TileProduct& p) {
  static constexpr TileConfig kConfig;
  _tile_loadconfig(&kConfig);
  for (std::int64_t k = 0; k < p.depth; k += kPanelDepth) {
    const std::int64_t depth = p.depth - k < kPanelDepth ? p.depth - k : kPanelDepth;
    for (std::int64_t j = 0; j < p.columns; j += kTilePanel) {
      const Bf16Bits* b = p.b + j / kTilePanel * p.b_panel + k * kTilePanel;
      const bool two_columns = p.columns - j > kTile;
      for (std::int64_t i = 0; i < p.rows; i += 2 * kTile) {
        const bool two_rows = p.rows - i > kTile;
        const auto run = two_rows ? (two_columns ? multiply_tiles<2, 2> : multiply_tiles<2, 1>)
                                  : (two_columns ? multiply_tiles<1, 2> : multiply_tiles<1, 1>);
        run(p.a + i * p.a_stride + k,
            p.a_stride,
            b,
            p.c + i * p.c_stride + j,
            p.c_stride,
            depth,
            p.accumulate || k > 0);
      }
    }
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

void panel_of_rows(const Bf16Bits* from,
                   std::int64_t from_stride,
                   std::int64_t rows,
                   std::int64_t columns,
                   Bf16Bits* panel) {
  const __mmask16 left = first16(columns);
  const __mmask16 right = first16(columns - kTile);
  for (std::int64_t i = 0; i < rows; i += 2, panel += 2 * kTilePanel) {
    const Bf16Bits* even = from + i * from_stride;
    const bool paired = i + 1 < rows;
    const Bf16Bits* odd = paired ? even + from_stride : even;
    const auto half = [&](std::int64_t at, __mmask16 mask) {
      return interleave(_mm256_maskz_loadu_epi16(mask, even + at),
                        _mm256_maskz_loadu_epi16(paired ? mask : __mmask16{0}, odd + at));
    };
    store_words(panel, half(0, left));
    store_words(panel + kTilePanel, half(kTile, right));
  }
}

/// 16 rows of 16 elements of 32 bits. Merging rows i and i + 8 rotates the bits of every element's
/// place (row, column) by one; after four of eight, rows are columns.
inline void transpose16(Words (&r)[16]) {
#pragma GCC unroll 4
  for (int round = 0; round < 4; ++round) {
    Words merged[16];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      merged[2 * i] = __builtin_shufflevector(
          r[i], r[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      merged[2 * i + 1] = __builtin_shufflevector(
          r[i], r[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) r[i] = merged[i];
  }
}

void panel_of_columns(const Bf16Bits* from,
                      std::int64_t from_stride,
                      std::int64_t rows,
                      std::int64_t columns,
                      Bf16Bits* panel) {
  for (std::int64_t k = 0; k < rows; k += kTileDepth) {
    const __mmask32 deep = first32(rows - k);
    const std::int64_t pairs = (rows - k + 1) / 2 < kTile ? (rows - k + 1) / 2 : kTile;
    for (std::int64_t j = 0; j < kTilePanel; j += kTile) {
      Words block[16];
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < kTile; ++i) {
        const bool present = j + i < columns;
        block[i] = reinterpret_cast<Words>(_mm512_maskz_loadu_epi16(
            present ? deep : 0U, from + (present ? (j + i) * from_stride + k : 0)));
      }
      transpose16(block);
      Bf16Bits* to = panel + k * kTilePanel + 2 * j;
      for (std::int64_t i = 0; i < pairs; ++i) store_words(to + i * 2 * kTilePanel, block[i]);
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
      .panel_of_rows = panel_of_rows,
      .panel_of_columns = panel_of_columns,
      .transpose = transpose,
  };
  return kKernels;
}

}  // namespace learn::backend::cpu::simd
