#pragma once
#include "framework/core/dtype.h"
#include "framework/core/round_up.h"
#include "framework/kernels/conv/cpu/tile_strip.h"

#include <optional>

/// How conv_tiles.cpp divides a convolution into products. Names are those used in the forward
/// pass; the gradient of the input reverses the roles of input and output.
namespace learn::cpu {

/// Depth that is gathered at once.
inline constexpr std::int64_t kGatheredDepth = 1024;
/// Extra elements between rows. If rows were a power of two apart, the 16 rows of a tile would map
/// to few lines of the first-level cache.
inline constexpr std::int64_t kTileRowGap = 32;
inline constexpr std::int64_t kTileSumGap = 16;

/// Results that see the same taps; they form one matrix product. Refers to the axes of its
/// convolution.
struct TilePart {
  const TileAxis& rows;
  const TileAxis& columns;
  std::int64_t depth;              ///< taps x channels in whole tiles
  std::int64_t panels_at;          ///< start of its packed weights, in elements
  std::optional<TileStrip> strip;  ///< if empty, rows are gathered tap by tap

  [[nodiscard]] std::int64_t taps() const {
    return static_cast<std::int64_t>(rows.taps.size() * columns.taps.size());
  }
};

/// The layout of the weights of a panel: elements between neighbours in each dimension.
struct TileWeightLayout {
  decltype(simd::TileKernels::pair_rows) pair;
  std::int64_t group, panel, tap, row;
};

/// A forward pass or a gradient of the input, which are the same computation: every pixel of `to`
/// sums, over some taps, the channels of a pixel of `from` times a matrix of weights.
struct TileConv {
  std::int64_t n, groups, window_w;
  std::int64_t from_c;            ///< per group
  std::int64_t to_h, to_w, to_c;  ///< to (n, to_h, to_w, groups * to_c)
  std::vector<TileAxis> rows, columns;
  const BFloat16* from;
  const BFloat16* weight;
  TileWeightLayout layout;
  const BFloat16* bias;
  BFloat16* to;
  bool accumulate;

  /// Returns the channels of a tap in the summed dimension, which is interleaved in pairs.
  [[nodiscard]] std::int64_t tap_depth() const { return round_up(from_c, 2); }
  [[nodiscard]] std::int64_t panels_per_group() const { return ceil_div(to_c, simd::kTilePanel); }
};

/// A task: some results of a part and some panels of a group.
struct TileTask {
  const TilePart* part;
  std::int64_t group;
  std::int64_t begin, end;               ///< results of the part
  std::int64_t first_panel, last_panel;  ///< panels of the group

  /// Return the rows and columns of its sums, in whole tiles.
  [[nodiscard]] std::int64_t sum_rows() const;
  [[nodiscard]] std::int64_t sum_columns(const TileConv& conv) const;
  /// Returns the number of elements from which it reads its left operand.
  [[nodiscard]] std::int64_t source_elements(const TileConv& conv) const;
};

[[nodiscard]] std::vector<TilePart> make_parts(const TileConv& conv);
[[nodiscard]] std::vector<TileTask> cut_into_tasks(const TileConv& conv,
                                                   const std::vector<TilePart>& parts);

/// Writes panel `index` of a part's weights, counted over all groups.
void pack_panel(const TileConv& conv,
                const TilePart& part,
                std::int64_t index,
                simd::Bf16Bits* panel);

}  // namespace learn::cpu
