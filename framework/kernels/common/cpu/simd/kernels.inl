// All vector kernels and their table, compiled once per instruction set inside that file's
// anonymous namespace. kLanes, kMaxWidth and max_rows must be defined before this is included.

#include "framework/kernels/common/cpu/simd/gemm.inl"
#include "framework/kernels/common/cpu/simd/grouped.inl"
#include "framework/kernels/common/cpu/simd/row_product.inl"
#include "framework/kernels/common/cpu/simd/toom_cook.inl"
#include "framework/kernels/common/cpu/simd/winograd.inl"

constexpr Kernels table(const char* name) {
  return {
      .name = name,
      .lanes = kLanes,
      .multiply = multiply_block<false>,
      .multiply_transposed = multiply_block<true>,
      .dot_rows = dot_rows,
      .multiply_groups = multiply_groups<>,
      .multiply_groups_transposed = multiply_groups_transposed<>,
      .gather_rows = gather_rows,
      .transpose = transpose,
      .winograd = {winograd<Window3>(), winograd<Window5>(), winograd<StridedWindow3>()},
  };
}
