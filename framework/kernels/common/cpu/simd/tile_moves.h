#pragma once
#include "framework/kernels/common/cpu/simd/tiles.h"

namespace learn::cpu::simd {

/// Returns `multiply` combined with the moves in AVX-512. Every machine that supports one of the
/// products also supports AVX-512.
[[nodiscard]] TileKernels with_avx512_moves(const char* name,
                                            bool faster_than_winograd,
                                            void (*multiply)(const TileProduct& product));

}  // namespace learn::cpu::simd
