#pragma once
#include <cstdint>

/// Products of bf16 matrices, summed in f32: on the matrix unit that Intel calls AMX, at sixteen
/// times the rate of f32 in vectors, or by the dot products of pairs that AVX-512 BF16 has, at
/// twice the rate. A product of two bf16 is exact in f32; sums are rounded to nearest, and
/// subnormal numbers (below 1.2e-38) count as zero. Like kernels.h, whose rules about includes hold
/// here too.
namespace learn::cpu::simd {

/// A bf16 as it is stored.
using Bf16Bits = std::uint16_t;

/// A tile holds 16 rows of as many sums; its factors hold 32 products' worth of depth.
inline constexpr std::int64_t kTile = 16;
inline constexpr std::int64_t kTileDepth = 32;
/// Rows 2i and 2i + 1 of a right-hand matrix lie interleaved: element (2i, j), then (2i + 1, j).
/// Its columns are taken in panels of this many.
inline constexpr std::int64_t kTilePanel = 32;

/// A stretch of the summed dimension that is contiguous in both operands.
struct TileRun {
  std::int64_t a;      ///< start in each row of the left operand, in elements
  std::int64_t b;      ///< at which row of each panel, an even one
  std::int64_t depth;  ///< a multiple of kTileDepth
};

/// c (+)= a * b, all extents filled up to whole tiles.
struct TileProduct {
  const Bf16Bits* a;
  std::int64_t a_stride;  ///< elements between rows
  const Bf16Bits* b;
  std::int64_t b_stride;  ///< elements between pairs of rows
  std::int64_t b_panel;   ///< elements between panels
  const TileRun* runs;
  std::int64_t run_count;
  float* c;
  std::int64_t c_stride;  ///< floats between rows
  std::int64_t rows;      ///< a multiple of kTile
  std::int64_t columns;   ///< a multiple of kTile
  bool accumulate;        ///< false: c is overwritten, true: added to
};

struct TileKernels {
  const char* name;
  /// Whether `multiply` takes less time for all products of a convolution than the vector units for
  /// Winograd's quarter of them in f32.
  bool faster_than_winograd;

  void (*multiply)(const TileProduct& product);

  /// `rows` rows of `length`; strides in elements.
  void (*copy_rows)(const Bf16Bits* from,
                    std::int64_t from_stride,
                    Bf16Bits* to,
                    std::int64_t to_stride,
                    std::int64_t rows,
                    std::int64_t length);

  /// Right-hand rows from a matrix as it lies: pair i, `to_stride` elements apart, gets (2i, j),
  /// (2i + 1, j). Columns up to the next multiple of kTile, and the row that an odd number of rows
  /// lacks, become zero.
  void (*pair_rows)(const Bf16Bits* from,
                    std::int64_t from_stride,
                    std::int64_t rows,
                    std::int64_t columns,
                    Bf16Bits* to,
                    std::int64_t to_stride);

  /// Does the same for a transposed matrix: row j of `from` holds the `rows` elements of column j.
  void (*pair_columns)(const Bf16Bits* from,
                       std::int64_t from_stride,
                       std::int64_t rows,
                       std::int64_t columns,
                       Bf16Bits* to,
                       std::int64_t to_stride);

  /// to[c * to_stride + r] = from[r * from_stride + c]. Writes whole blocks of kTileDepth rows and
  /// kTile columns: what is beyond `rows` and `columns` becomes zero.
  void (*transpose)(const Bf16Bits* from,
                    std::int64_t from_stride,
                    std::int64_t rows,
                    std::int64_t columns,
                    Bf16Bits* to,
                    std::int64_t to_stride);
};

#if defined(__x86_64__)
[[nodiscard]] const TileKernels& avx512_bf16_kernels();
[[nodiscard]] const TileKernels& amx_kernels();
#endif

/// Kernels that the machine, its kernel and `isa()` allow, the slowest first; the rest is null.
struct TileKernelList {
  const TileKernels* all[2];
};
[[nodiscard]] TileKernelList supported_tile_kernels();
/// The fastest of them, or null.
[[nodiscard]] const TileKernels* best_tile_kernels();

}  // namespace learn::cpu::simd
