#pragma once
#include "framework/kernels/common/cpu/simd/tiles.h"

namespace learn::cpu::simd {

/// `multiply` with the moves in AVX-512, which every machine that has one of the products has.
[[nodiscard]] TileKernels with_avx512_moves(const char* name,
                                            bool faster_than_winograd,
                                            void (*multiply)(const TileProduct& product));

}  // namespace learn::cpu::simd
