#pragma once
#include <cstdint>

/// Products of bf16 matrices, summed in f32, on the matrix unit that Intel calls AMX: some sixteen
/// times the rate of f32 in vectors. What a product of two bf16 rounds to in f32 is exact; sums are
/// rounded to nearest, and subnormal numbers (below 1.2e-38) count as zero. Like kernels.h, whose
/// rules about includes hold here too.
namespace learn::backend::cpu::simd {

/// A bf16 as it is stored.
using Bf16Bits = std::uint16_t;

/// A tile holds 16 rows of as many sums; its factors hold 32 products' worth of depth.
inline constexpr std::int64_t kTile = 16;
inline constexpr std::int64_t kTileDepth = 32;
/// Right-hand matrices are cut into panels of this many columns. Rows 2i and 2i + 1 of a panel lie
/// interleaved: element (2i, j), then (2i + 1, j).
inline constexpr std::int64_t kTilePanel = 32;

/// c (+)= a * b, all extents filled up to whole tiles.
struct TileProduct {
  const Bf16Bits* a;
  std::int64_t a_stride;  ///< elements between rows
  const Bf16Bits* b;
  std::int64_t b_panel;  ///< elements between panels
  float* c;
  std::int64_t c_stride;  ///< floats between rows
  std::int64_t rows;      ///< a multiple of kTile
  std::int64_t columns;   ///< a multiple of kTile
  std::int64_t depth;     ///< a multiple of kTileDepth
  bool accumulate;        ///< false: c is overwritten, true: added to
};

struct TileKernels {
  void (*multiply)(const TileProduct& product);

  /// `rows` rows of `length`; strides in elements.
  void (*copy_rows)(const Bf16Bits* from,
                    std::int64_t from_stride,
                    Bf16Bits* to,
                    std::int64_t to_stride,
                    std::int64_t rows,
                    std::int64_t length);

  /// A panel from rows of a matrix as they lie: (2i, j), (2i + 1, j) for `columns` <= kTilePanel.
  /// Missing columns, and the row that an odd number of rows lacks, are zero.
  void (*panel_of_rows)(const Bf16Bits* from,
                        std::int64_t from_stride,
                        std::int64_t rows,
                        std::int64_t columns,
                        Bf16Bits* panel);

  /// A panel whose column j is row j of `from`: `columns` <= kTilePanel rows of length `rows`.
  /// Missing elements as above.
  void (*panel_of_columns)(const Bf16Bits* from,
                           std::int64_t from_stride,
                           std::int64_t rows,
                           std::int64_t columns,
                           Bf16Bits* panel);

  /// to[c * to_stride + r] = from[r * from_stride + c]. Writes whole blocks of kTileDepth rows and
  /// kTile columns: what is beyond `rows` and `columns` becomes zero.
  void (*transpose)(const Bf16Bits* from,
                    std::int64_t from_stride,
                    std::int64_t rows,
                    std::int64_t columns,
                    Bf16Bits* to,
                    std::int64_t to_stride);
};

/// Null where the machine, its kernel or `isa()` does not allow them.
[[nodiscard]] const TileKernels* tile_kernels();

#if defined(__x86_64__)
[[nodiscard]] const TileKernels& amx_kernels();
#endif

}  // namespace learn::backend::cpu::simd
