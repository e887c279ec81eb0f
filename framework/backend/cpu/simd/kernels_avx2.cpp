#include "framework/backend/cpu/simd/kernels.h"

namespace learn::backend::cpu::simd {
namespace {

constexpr int kLanes = 8;
constexpr int kMaxWidth = 2;
constexpr int max_rows(int width) { return 6 * 2 / width; }

#include "framework/backend/cpu/simd/gemm.inl"
#include "framework/backend/cpu/simd/winograd.inl"

}  // namespace

const Kernels& avx2_kernels() {
  static constexpr Kernels kKernels{
      .name = "avx2",
      .multiply = multiply_block<false>,
      .multiply_transposed = multiply_block<true>,
      .gather_rows = gather_rows,
      .transpose = transpose,
      .winograd_input = winograd_input,
      .winograd_output = winograd_output,
      .winograd_output_gradient = winograd_output_gradient,
      .winograd_weight = winograd_weight,
      .winograd_weight_gradient = winograd_weight_gradient,
  };
  return kKernels;
}

}  // namespace learn::backend::cpu::simd
