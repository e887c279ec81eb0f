#include "framework/kernels/common/cpu/simd/tile_moves.h"

#include <immintrin.h>

namespace learn::cpu::simd {
namespace {

/// Returns a mask of the first `n` of 16 or 32 elements.
inline __mmask16 first16(std::int64_t n) {
  return static_cast<__mmask16>(n >= 16 ? 0xFFFFU : n <= 0 ? 0U : (1U << n) - 1U);
}
inline __mmask32 first32(std::int64_t n) {
  return n >= 32 ? 0xFFFFFFFFU : n <= 0 ? 0U : (1U << n) - 1U;
}

using Words [[gnu::vector_size(64)]] = std::uint32_t;
using Elements [[gnu::vector_size(32)]] = Bf16Bits;

/// Returns pairs (low[i], high[i]) of 16 elements.
inline Words interleave(__m256i low, __m256i high) {
  return __builtin_convertvector(reinterpret_cast<Elements>(low), Words) |
         __builtin_convertvector(reinterpret_cast<Elements>(high), Words) << 16U;
}

inline void store_words(Bf16Bits* to, Words words) {
  _mm512_storeu_si512(to, reinterpret_cast<__m512i>(words));
}

/// Transposes 16 rows of 16 elements of 32 bits. Merging rows i and i + 8 rotates the bits of every
/// element's position (row, column) by one. After four of the eight rotations, rows have become
/// columns.
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

TileKernels with_avx512_moves(const char* name,
                              bool faster_than_winograd,
                              void (*multiply)(const TileProduct& product)) {
  return {
      .name = name,
      .faster_than_winograd = faster_than_winograd,
      .multiply = multiply,
      .copy_rows = copy_rows,
      .pair_rows = pair_rows,
      .pair_columns = pair_columns,
      .transpose = transpose,
  };
}

}  // namespace learn::cpu::simd
