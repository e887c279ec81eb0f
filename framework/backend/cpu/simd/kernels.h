#pragma once
#include <cstdint>

/// The innermost loops of convolution and matrix product, compiled once per instruction set. The
/// files that implement them are built with wider instructions than the rest of the program, so
/// they include nothing but this header and intrinsics: an inline function of another header,
/// compiled there, could be the one the linker keeps for everybody.
namespace learn::backend::cpu::simd {

/// Right-hand matrices are cut into panels of this many columns: panel j holds, row after row, the
/// columns [32 j, 32 j + 32), the last one filled up with anything finite.
inline constexpr std::int64_t kPanel = 32;

/// A stretch of the summed dimension that is contiguous in both operands. Offsets in floats.
struct Run {
  std::int64_t a;      ///< where it begins in each row of the left operand (or as its first row)
  std::int64_t b;      ///< where it begins in each panel of the right operand
  std::int64_t depth;  ///< how many products
};

/// c (+)= a * b for a block that the caller has made to fit the cache.
struct GemmBlock {
  const float* a;
  std::int64_t a_stride;  ///< floats between rows of `a` as it lies in memory
  const float* b;
  std::int64_t b_stride;  ///< floats between panels
  const Run* runs;
  std::int64_t run_count;
  float* const* c;        ///< row i of the result begins at c[i] + c_offset
  std::int64_t c_offset;  ///< floats
  std::int64_t rows;
  std::int64_t columns;
  bool accumulate;  ///< false: c is overwritten, true: added to
};

struct Kernels {
  const char* name;
  /// a holds its rows one after the other: a(i, k) = a[i * a_stride + k].
  void (*multiply)(const GemmBlock& block);
  /// a is stored transposed: a(i, k) = a[k * a_stride + i].
  void (*multiply_transposed)(const GemmBlock& block);
};

/// What every machine of the architecture runs.
[[nodiscard]] const Kernels& generic_kernels();
#if defined(__x86_64__)
[[nodiscard]] const Kernels& avx2_kernels();
[[nodiscard]] const Kernels& avx512_kernels();
#endif

/// The kernels this machine can run, the slowest first; null ends the list.
struct KernelList {
  const Kernels* all[4];
};
[[nodiscard]] KernelList supported_kernels();
/// The fastest of them.
[[nodiscard]] const Kernels& best_kernels();

}  // namespace learn::backend::cpu::simd
