#include "framework/kernels/common/cpu/simd/tile_moves.h"

#include <immintrin.h>

#include <cstring>

namespace learn::cpu::simd {
namespace {

/// Returns two consecutive elements of the left operand in all 16 positions.
inline __m512bh pair_everywhere(const Bf16Bits* from) {
  int pair = 0;
  std::memcpy(&pair, from, sizeof pair);
  __m512i everywhere = _mm512_set1_epi32(pair);
#if defined(__clang__) && (__clang_major__ == 16 || __clang_major__ == 17)
  asm("" : "+v"(everywhere));  // these versions crash if the product itself loads it
#endif
  return reinterpret_cast<__m512bh>(everywhere);
}

/// Computes sums of `kRows` x `kVectors` vectors of 16 in registers, starting with row i and column
/// j.
template <int kRows, int kVectors>
void multiply_rows(const TileProduct& p, std::int64_t i, std::int64_t j) {
  const Bf16Bits* const a = p.a + i * p.a_stride;
  const Bf16Bits* const b = p.b + j / kTilePanel * p.b_panel;
  float* const c = p.c + i * p.c_stride + j;
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v)
      sums[r][v] =
          p.accumulate ? _mm512_loadu_ps(c + r * p.c_stride + v * kTile) : _mm512_setzero_ps();
  for (const TileRun* run = p.runs; run != p.runs + p.run_count; ++run) {
    const Bf16Bits* left = a + run->a;
    const Bf16Bits* right = b + run->b / 2 * p.b_stride;
    for (std::int64_t k = 0; k < run->depth; k += 2) {
      __m512bh pairs[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        pairs[v] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(right + 2 * kTile * v));
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const __m512bh row = pair_everywhere(left + r * p.a_stride);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], row, pairs[v]);
      }
      left += 2;
      right += p.b_stride;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(c + r * p.c_stride + v * kTile, sums[r][v]);
}

void multiply(const TileProduct& p) {
  for (std::int64_t j = 0; j < p.columns; j += kTilePanel) {
    if (p.columns - j > kTile)
      for (std::int64_t i = 0; i < p.rows; i += 8) multiply_rows<8, 2>(p, i, j);
    else
      for (std::int64_t i = 0; i < p.rows; i += 16) multiply_rows<16, 1>(p, i, j);
  }
}

}  // namespace

const TileKernels& avx512_bf16_kernels() {
  static const TileKernels kernels = with_avx512_moves("AVX-512 BF16", false, multiply);
  return kernels;
}

}  // namespace learn::cpu::simd
