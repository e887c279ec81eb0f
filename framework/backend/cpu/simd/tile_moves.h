#pragma once
#include "framework/backend/cpu/simd/tiles.h"

namespace learn::backend::cpu::simd {

/// `multiply` with the moves in AVX-512, which every machine that has one of the products has.
[[nodiscard]] TileKernels with_avx512_moves(const char* name,
                                            bool faster_than_winograd,
                                            void (*multiply)(const TileProduct& product));

}  // namespace learn::backend::cpu::simd
