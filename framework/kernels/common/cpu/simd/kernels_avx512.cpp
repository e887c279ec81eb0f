#include "framework/kernels/common/cpu/simd/kernels.h"

namespace learn::cpu::simd {
namespace {

constexpr std::int64_t kLanes = 16;
constexpr int kMaxWidth = 4;
constexpr int max_rows(int width) { return width <= 2 ? 14 : 24 / width; }

#include "framework/kernels/common/cpu/simd/kernels.inl"

}  // namespace

const Kernels& avx512_kernels() {
  static constexpr Kernels kKernels = table("avx512");
  return kKernels;
}

}  // namespace learn::cpu::simd
