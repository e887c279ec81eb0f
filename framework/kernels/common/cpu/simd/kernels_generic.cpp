#include "framework/kernels/common/cpu/simd/kernels.h"

namespace learn::cpu::simd {
namespace {

constexpr std::int64_t kLanes = 4;
constexpr int kMaxWidth = 2;
constexpr int max_rows(int width) { return 6 * 2 / width; }

#include "framework/kernels/common/cpu/simd/kernels.inl"

}  // namespace

const Kernels& generic_kernels() {
  static constexpr Kernels kKernels = table("generic");
  return kKernels;
}

}  // namespace learn::cpu::simd
