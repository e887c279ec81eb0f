#pragma once
#include <cstdint>

/// Products of bf16 matrices, summed in f32. They run either on Intel's matrix unit (AMX), at
/// sixteen times the rate of f32 vectors, or with the AVX-512 BF16 dot products of pairs, at twice
/// the rate of f32 vectors. The product of two bf16 is exact in f32; sums are rounded to nearest,
/// and subnormal numbers (below 1.2e-38) count as zero. The rules about includes in kernels.h apply
/// here too.
namespace learn::cpu::simd {

/// A bf16 as it is stored.
using Bf16Bits = std::uint16_t;

/// Rows and columns of the sums in a tile. The factors of a tile hold 32 elements of depth.
inline constexpr std::int64_t kTile = 16;
inline constexpr std::int64_t kTileDepth = 32;
/// Columns per panel of a right-hand matrix. Rows 2i and 2i + 1 are interleaved: element (2i, j) is
/// followed by (2i + 1, j).
inline constexpr std::int64_t kTilePanel = 32;

/// A stretch of the summed dimension that is contiguous in both operands.
struct TileRun {
  std::int64_t a;      ///< its start in each row of the left operand, in elements
  std::int64_t b;      ///< its first row in each panel, an even number
  std::int64_t depth;  ///< a multiple of kTileDepth
};

/// Computes c (+)= a * b, with all extents rounded up to whole tiles.
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
  /// Whether `multiply` computes all products of a convolution in less time than the vector units
  /// need for a quarter of them (Winograd) in f32.
  bool faster_than_winograd;

  void (*multiply)(const TileProduct& product);

  /// Copies `rows` rows of `length`; strides are in elements.
  void (*copy_rows)(const Bf16Bits* from,
                    std::int64_t from_stride,
                    Bf16Bits* to,
                    std::int64_t to_stride,
                    std::int64_t rows,
                    std::int64_t length);

  /// Builds right-hand rows from a matrix in row order: pair i, `to_stride` elements apart, gets
  /// (2i, j), (2i + 1, j). Columns up to the next multiple of kTile become zero, and so does the
  /// missing last row if the number of rows is odd.
  void (*pair_rows)(const Bf16Bits* from,
                    std::int64_t from_stride,
                    std::int64_t rows,
                    std::int64_t columns,
                    Bf16Bits* to,
                    std::int64_t to_stride);

  /// Builds right-hand rows as `pair_rows` does, from a transposed matrix: row j of `from` holds
  /// the `rows` elements of column j.
  void (*pair_columns)(const Bf16Bits* from,
                       std::int64_t from_stride,
                       std::int64_t rows,
                       std::int64_t columns,
                       Bf16Bits* to,
                       std::int64_t to_stride);

  /// Sets to[c * to_stride + r] = from[r * from_stride + c]. Writes whole blocks of kTileDepth rows
  /// and kTile columns; elements beyond `rows` and `columns` become zero.
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

/// The kernels that the machine, its operating system and `isa()` allow, slowest first, followed by
/// null pointers.
struct TileKernelList {
  const TileKernels* all[2];
};
[[nodiscard]] TileKernelList supported_tile_kernels();
/// Returns the fastest of them, or null.
[[nodiscard]] const TileKernels* best_tile_kernels();

}  // namespace learn::cpu::simd
