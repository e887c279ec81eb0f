#pragma once
#include <cstdint>

/// The innermost loops of convolution and matrix product, compiled once per instruction set and
/// selected by vectorize.h. Tiles of sums that must stay in registers need explicit vectors, whose
/// width and number differ between instruction sets. So unlike the loops of vectorize.h, these have
/// one source file per instruction set. These files are built with wider instructions than the rest
/// of the program and include only this header. If they compiled an inline function of another
/// header, the linker might keep that definition for the whole program.
namespace learn::cpu::simd {

/// Columns per panel of a right-hand matrix. Panel j holds, row after row, the columns [32 j, 32
/// j + 32). The last panel is filled up with arbitrary values.
inline constexpr std::int64_t kPanel = 32;

/// A stretch of the summed dimension that is contiguous in both operands. Offsets are in floats.
struct Run {
  std::int64_t a;      ///< its start in each row of the left operand (or its first row)
  std::int64_t b;      ///< its start in each panel of the right operand
  std::int64_t depth;  ///< number of products
};

/// Computes c (+)= a * b for a block that the caller has sized to fit the cache.
struct GemmBlock {
  const float* a;
  std::int64_t a_stride;  ///< floats between rows of `a` in memory
  const float* b;
  std::int64_t b_row = kPanel;  ///< floats between rows of a panel
  std::int64_t b_stride;        ///< floats between panels
  const Run* runs;
  std::int64_t run_count;
  float* const* c;        ///< row i of the result starts at c[i] + c_offset
  std::int64_t c_offset;  ///< floats
  std::int64_t rows;
  std::int64_t columns;
  bool accumulate;  ///< false: c is overwritten, true: added to
  /// The b of the next product, which has the same runs, to request it in time; null if unknown.
  const float* ahead = nullptr;
  /// The rows of `a` follow each other and come from memory, so that later ones are requested.
  bool streamed = false;
  bool far_results = false;  ///< c comes from memory, and is requested before it is computed
};

/// Computes c = a * b^T, plus a bias. The rows of both are stored one after the other.
struct DotBlock {
  const float* a;
  std::int64_t a_stride;  ///< floats between rows
  std::int64_t rows;
  const float* b;
  std::int64_t b_stride;
  std::int64_t columns;   ///< rows of b
  std::int64_t depth;     ///< a multiple of 16
  const float* bias;      ///< of the columns; may be null
  float* const* c;        ///< row i of the result starts at c[i] + c_offset
  std::int64_t c_offset;  ///< floats
};

/// A stretch of floats to copy into a gathered row; its offset is relative to the source row.
struct Copy {
  std::int64_t from, to, length;
};

/// The matrices of Winograd's algorithm, `matrix` floats apart, with rows of channels. `data` is
/// the row of the first one.
struct WinogradMatrices {
  float* data;
  std::int64_t matrix;
};

/// One direction of Winograd's algorithm: tiles of pixels are transformed, matrix products replace
/// the convolution, and their results are transformed into tiles of pixels. Tiles are square and
/// stored row by row, as pointers to the pixels' channel 0. There are at least `lanes` channels.
struct WinogradPass {
  std::int64_t from;  ///< pixels along a side of a tile that is read
  std::int64_t to;    ///< pixels along a side of a tile that is computed
  void (*input)(const float* const* pixels, std::int64_t channels, const WinogradMatrices& to);
  /// Skips pixels that are null.
  void (*output)(const WinogradMatrices& from,
                 std::int64_t channels,
                 float* const* pixels,
                 bool accumulate);
};

/// Winograd's algorithm for one window and stride (toom_cook.inl). Each axis has `points`, and
/// there is a matrix for each pair of them.
struct Winograd {
  std::int64_t window, stride;
  std::int64_t points;
  /// Points of the weights along an axis. All further points use the last one.
  std::int64_t weight_points;
  WinogradPass forward;
  WinogradPass backward;  ///< computes the input's gradient, with the window rotated by 180 degrees
  /// Transforms a tile of the results' gradient (forward.to) for the gradient of the weights.
  void (*output_gradient)(const float* const* pixels,
                          std::int64_t channels,
                          const WinogradMatrices& to);
  /// Transforms rows of 32 columns. Tap t of row i is at taps + t * tap_stride + 32 i.
  void (*weight)(const float* taps,
                 std::int64_t tap_stride,
                 std::int64_t rows,
                 const WinogradMatrices& to);
  /// Computes the weights' gradient, with tap t at dw + t * channels.
  void (*weight_gradient)(const WinogradMatrices& from,
                          std::int64_t channels,
                          float* dw,
                          bool accumulate);
};
/// F(4x4,3x3), F(2x2,5x5), and 4x4 results of 3x3 windows that move by two pixels.
inline constexpr int kWinogradVariants = 3;

/// A tap of a convolution's window.
struct WindowTap {
  std::int64_t from;   ///< floats from a result's source pixel to the one that the tap reads
  std::int64_t index;  ///< in the window
};

/// Pixels at even distances in two images, in floats.
struct PixelAxis {
  std::int64_t count;
  std::int64_t from, to;  ///< between neighbours in the source and in the result
};

/// Results of a grouped convolution with the same taps and at even distances, as are their
/// sources. Each group has as many results as channels. Vectors hold the channels of several
/// groups.
struct GroupedGrid {
  PixelAxis rows, columns;  ///< either may be the longer one
  const WindowTap* taps;
  std::int64_t tap_count;
  std::int64_t window;                   ///< taps of the whole window
  std::int64_t width;                    ///< channels of a group: a power of two, at most `lanes`
  std::int64_t channels;                 ///< of all groups, at least `lanes`
  std::int64_t first_block, last_block;  ///< vectors of channels to compute
  bool streamed;  ///< the images come from memory, so that the next row is requested
};

struct Kernels {
  const char* name;
  std::int64_t lanes;  ///< floats of a vector
  /// Multiplies with the rows of a stored one after the other: a(i, k) = a[i * a_stride + k].
  void (*multiply)(const GemmBlock& block);
  /// Multiplies with a stored transposed: a(i, k) = a[k * a_stride + i].
  void (*multiply_transposed)(const GemmBlock& block);

  /// Multiplies with b transposed, that is, dot products of rows.
  void (*dot_rows)(const DotBlock& block);
  /// Computes to (+)= from * weights. The weights of a block of `lanes` results are stored
  /// together: weights[block][tap][channel of the group][lane]. If the last block is not full, its
  /// first channel is `channels` - `lanes`. `bias` may be null.
  void (*multiply_groups)(const GroupedGrid& grid,
                          const float* from,
                          const float* weights,
                          const float* bias,
                          float* to,
                          bool accumulate);
  /// Adds to the weights' gradient, in the same order, the products of x and dy (`to` of the grid).
  void (*multiply_groups_transposed)(const GroupedGrid& grid,
                                     const float* x,
                                     const float* dy,
                                     float* sums);

  /// Fills row i of `to`, with rows `stride` floats apart, with its copies from around from[i].
  void (*gather_rows)(const float* const* from,
                      std::int64_t rows,
                      const Copy* copies,
                      std::int64_t copy_count,
                      float* to,
                      std::int64_t stride);

  /// Sets to[c * to_stride + r] = from[r * from_stride + c] for `rows` x `columns`.
  void (*transpose)(const float* from,
                    std::int64_t from_stride,
                    std::int64_t rows,
                    std::int64_t columns,
                    float* to,
                    std::int64_t to_stride);

  Winograd winograd[kWinogradVariants];
};

/// Returns the kernels that run on every machine of the architecture.
[[nodiscard]] const Kernels& generic_kernels();
#if defined(__x86_64__)
[[nodiscard]] const Kernels& avx2_kernels();
[[nodiscard]] const Kernels& avx512_kernels();
#endif

/// The kernels that `isa()` allows, slowest first, followed by null pointers.
struct KernelList {
  const Kernels* all[4];
};
[[nodiscard]] KernelList supported_kernels();
/// Returns the fastest of them.
[[nodiscard]] const Kernels& best_kernels();

}  // namespace learn::cpu::simd
