#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/conv/cpu/conv_tiles.h"
#include "framework/kernels/conv/cpu/conv_tiles_plan.h"
#include "framework/tensor/convert.h"

#include <algorithm>

namespace learn::cpu {
namespace {

using simd::Bf16Bits;
using simd::kTile;
using simd::kTileDepth;
using simd::kTilePanel;

constexpr std::int64_t kPixels = 512;  // a panel of this many gathered pixels takes 32 kB
constexpr std::int64_t kWantedTasks = 16;
constexpr std::int64_t kMaxSums = 1 << 21;  // floats; more partial results cost too much traffic

/// The gradient dw (k, taps * c) = sum over output pixels of dy (pixel, k) * x (pixel, taps * c),
/// with dy transposed. x is either gathered in panels of columns or, for every tap, taken from a
/// copy of the strip.
struct WeightGradient {
  const ConvGeometry& g;
  TileAxis rows, columns;
  std::optional<TileStrip> strip;
  const Bf16Bits* x;
  const Bf16Bits* dy;
  std::vector<ResultRange> blocks;  // pixels that are summed at once

  WeightGradient(const ConvGeometry& geometry, const BFloat16* from, const BFloat16* gradient)
      : g(geometry),
        rows(forward_axis(g.p, g.h, g.r, g.options.stride_h, g.options.pad_top).front()),
        columns(forward_axis(g.q, g.w, g.s, g.options.stride_w, g.options.pad_left).front()),
        x(reinterpret_cast<const Bf16Bits*>(from)),
        dy(reinterpret_cast<const Bf16Bits*>(gradient)) {
    if (g.group_c() % kTile == 0 && TileStrip::pays(rows, columns)) strip.emplace(rows, columns);
    blocks = cut_grid(grid(), strip, kPixels);
  }

  [[nodiscard]] TileGrid grid() const { return {g.n, rows, columns}; }
  [[nodiscard]] TileSource source() const { return {x, g.c}; }
  [[nodiscard]] std::int64_t width() const { return g.r * g.s * g.group_c(); }

  /// Returns the number of columns of one product: a tap of a strip, or else a panel.
  [[nodiscard]] std::int64_t part_width() const { return strip ? g.group_c() : kTilePanel; }
  [[nodiscard]] std::int64_t parts() const { return ceil_div(width(), part_width()); }
  /// Returns the rows of sums of a part. The sums of a group are stored as (part, k, column of the
  /// part), because each row of the whole width would be on a separate page.
  [[nodiscard]] std::int64_t sum_rows() const { return round_up(g.group_k(), kTile); }
  [[nodiscard]] std::int64_t part_sums() const { return sum_rows() * part_width(); }
  [[nodiscard]] std::int64_t sums() const { return parts() * part_sums(); }

  [[nodiscard]] std::int64_t strip_rows(const ResultRange& b) const {
    return (b.end - b.begin) / g.q;
  }
  /// Returns the depth of the summed dimension, in whole tiles.
  [[nodiscard]] std::int64_t depth(const ResultRange& b) const {
    const std::int64_t pixels = strip ? strip_rows(b) * strip->width : b.end - b.begin;
    return round_up(pixels, kTileDepth);
  }
  [[nodiscard]] std::int64_t max_depth() const {
    std::int64_t most = 0;
    for (const ResultRange& b : blocks) most = std::max(most, depth(b));
    return most;
  }
};

/// dy, transposed to (group, block, k, pixel).
struct TransposedGradient {
  FloatWorkspace memory;
  std::int64_t stride;  // elements from one k to the next
  std::int64_t block;   // elements from block to block

  TransposedGradient(const ConvResources& on, const WeightGradient& wg)
      : memory(on.workspace,
               wg.g.options.groups * static_cast<std::int64_t>(wg.blocks.size()) * wg.sum_rows() *
                   (wg.max_depth() + kTileRowGap) / 2),
        stride(wg.max_depth() + kTileRowGap),
        block(wg.sum_rows() * stride) {
    const auto blocks = static_cast<std::int64_t>(wg.blocks.size());
    on.threads.run(wg.g.options.groups * blocks, [&](std::int64_t i) {
      fill(on, wg, wg.blocks[static_cast<std::size_t>(i % blocks)], i / blocks, data() + i * block);
    });
  }

  [[nodiscard]] Bf16Bits* data() const { return reinterpret_cast<Bf16Bits*>(memory.data()); }

 private:
  void fill(const ConvResources& on,
            const WeightGradient& wg,
            const ResultRange& b,
            std::int64_t group,
            Bf16Bits* to) const {
    // A strip has unused results between its rows; their gradient is zero.
    const std::int64_t length = wg.strip ? wg.g.q : b.end - b.begin;
    const std::int64_t pitch = wg.strip ? wg.strip->width : length;
    if (wg.strip) std::fill_n(to, block, Bf16Bits{0});
    for (std::int64_t pixel = b.begin; pixel < b.end; pixel += length, to += pitch)
      on.tiles->transpose(wg.dy + pixel * wg.g.k + group * wg.g.group_k(),
                          wg.g.k,
                          length,
                          wg.g.group_k(),
                          to,
                          stride);
  }
};

/// Returns the taps and channels of the columns of one panel.
std::vector<TilePiece> pieces_of(const WeightGradient& wg, std::int64_t group, std::int64_t panel) {
  const std::int64_t c = wg.g.group_c();
  const std::int64_t begin = panel * kTilePanel;
  const std::int64_t end = std::min(begin + kTilePanel, wg.width());
  std::vector<TilePiece> pieces;
  for (std::int64_t at = begin; at < end; at += pieces.back().length) {
    const auto tap = static_cast<std::size_t>(at / c);
    pieces.push_back({wg.rows.taps[tap / wg.columns.taps.size()],
                      wg.columns.taps[tap % wg.columns.taps.size()],
                      group * c + at % c,
                      std::min(end - at, c - at % c),
                      at - begin});
  }
  return pieces;
}

/// A task: parts [first, last) of one group over a range of blocks.
struct Task {
  std::int64_t group, first, last, begin, end;
  float* sums;
};

/// Returns the number of elements that a task needs for its form of x.
std::int64_t scratch_elements(const WeightGradient& wg) {
  if (!wg.strip) return 2 * kPixels * kTilePanel;
  std::int64_t pixels = 0;
  for (const ResultRange& b : wg.blocks)
    pixels = std::max(pixels, wg.strip->pixels(wg.strip_rows(b), kTileDepth));
  return 3 * (pixels + 1) * wg.g.group_c();
}

/// Adds the product of one block, dy times columns of x, to a task's sums.
void multiply(const ConvResources& on,
              const WeightGradient& wg,
              simd::TileProduct product,
              std::int64_t depth) {
  const simd::TileRun run{0, 0, depth};
  product.runs = &run;
  product.run_count = 1;
  product.c_stride = wg.part_width();
  product.rows = wg.sum_rows();
  product.columns = wg.part_width();
  on.tiles->multiply(product);
}

void add_gathered(const ConvResources& on,
                  const WeightGradient& wg,
                  const Task& t,
                  const ResultRange& b,
                  simd::TileProduct product,
                  Bf16Bits* gathered) {
  Bf16Bits* const panel = gathered + kPixels * kTilePanel;
  const std::int64_t pixels = b.end - b.begin;
  const std::int64_t depth = wg.depth(b);
  // Pixels that fill up the last tile are zero in both operands.
  std::fill_n(gathered + pixels * kTilePanel, (depth - pixels) * kTilePanel, Bf16Bits{0});
  product.b = panel;
  product.b_stride = 2 * kTilePanel;
  for (std::int64_t p = t.first; p < t.last; ++p) {
    gather_pieces(*on.tiles,
                  wg.grid(),
                  wg.source(),
                  pieces_of(wg, t.group, p),
                  b.begin,
                  b.end,
                  gathered,
                  kTilePanel);
    on.tiles->pair_rows(gathered, kTilePanel, depth, kTilePanel, panel, 2 * kTilePanel);
    product.c = t.sums + p * wg.part_sums();
    multiply(on, wg, product, depth);
  }
}

/// Adds the products of a strip. Pixels are summed in pairs, and a tap shifts them by an even or
/// odd number. So the copy is paired twice, starting with its first and with its second pixel.
void add_strip(const ConvResources& on,
               const WeightGradient& wg,
               const Task& t,
               const ResultRange& b,
               simd::TileProduct product,
               Bf16Bits* copy) {
  const std::int64_t c = wg.g.group_c();
  const std::int64_t rows = wg.strip_rows(b);
  const std::int64_t pixels = wg.strip->pixels(rows, kTileDepth);
  const std::int64_t copied = wg.strip->pixels(rows, -wg.strip->more_columns);
  const std::int64_t row = b.begin / wg.g.q;
  copy_strip(*on.tiles,
             *wg.strip,
             wg.grid(),
             wg.source(),
             row / wg.g.p,
             row % wg.g.p,
             row % wg.g.p + rows,
             t.group * c,
             c,
             copy);
  std::fill_n(copy + copied * c, (pixels - copied) * c, Bf16Bits{0});
  Bf16Bits* const even = copy + (pixels + 1) * c;
  Bf16Bits* const odd = even + (pixels + 1) * c;
  on.tiles->pair_rows(copy, c, pixels, c, even, 2 * c);
  on.tiles->pair_rows(copy + c, c, pixels - 1, c, odd, 2 * c);
  product.b_stride = 2 * c;
  product.b_panel = 2 * kTilePanel;
  for (std::int64_t tap = t.first; tap < t.last; ++tap) {
    const std::int64_t offset =
        wg.strip->offset(wg.rows.taps[static_cast<std::size_t>(tap / wg.g.s)],
                         wg.columns.taps[static_cast<std::size_t>(tap % wg.g.s)]);
    product.b = (offset % 2 == 0 ? even : odd) + offset / 2 * 2 * c;
    product.c = t.sums + tap * wg.part_sums();
    multiply(on, wg, product, wg.depth(b));
  }
}

void run_task(const ConvResources& on,
              const WeightGradient& wg,
              const Task& t,
              const TransposedGradient& gradient,
              Bf16Bits* scratch) {
  for (std::int64_t i = t.begin; i < t.end; ++i) {
    const auto blocks = static_cast<std::int64_t>(wg.blocks.size());
    simd::TileProduct product{};
    product.a = gradient.data() + (t.group * blocks + i) * gradient.block;
    product.a_stride = gradient.stride;
    product.accumulate = i > t.begin;
    (wg.strip ? add_strip : add_gathered)(
        on, wg, t, wg.blocks[static_cast<std::size_t>(i)], product, scratch);
  }
}

/// Computes dw (+)= the sums of all chunks, in order. The other sums are added to the first
/// chunk's.
void store_sums(const ConvResources& on,
                const WeightGradient& wg,
                float* sums,
                std::int64_t chunks,
                BFloat16* dw,
                GradMode mode) {
  const std::int64_t width = wg.width();
  const std::int64_t part_width = wg.part_width();
  const std::int64_t group_k = wg.g.group_k();
  const std::int64_t part_sums = wg.part_sums();
  const std::int64_t group_sums = wg.sums();
  const std::int64_t all_sums = wg.g.options.groups * group_sums;
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(width, 1));
  simd::parallel_for(on.threads, wg.g.k, grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      for (std::int64_t at = 0; at < width; at += part_width) {
        float* row = sums + k / group_k * group_sums + at / part_width * part_sums +
                     k % group_k * part_width;
        BFloat16* to = dw + k * width + at;
        const std::int64_t columns = std::min(part_width, width - at);
        for (std::int64_t c = 1; c < chunks; ++c) {
          LEARN_VECTORIZE
          for (std::int64_t j = 0; j < columns; ++j) row[j] += row[c * all_sums + j];
        }
        LEARN_VECTORIZE
        for (std::int64_t j = 0; j < columns; ++j)
          to[j] = from_float<BFloat16>(mode == GradMode::accumulate ? as_float(to[j]) + row[j]
                                                                    : row[j]);
      }
  });
}

}  // namespace

void tiles_backward_weight(const ConvResources& on,
                           const ConvGeometry& g,
                           const BFloat16* x,
                           const BFloat16* dy,
                           BFloat16* dw,
                           GradMode mode) {
  const WeightGradient wg(g, x, dy);
  const TransposedGradient gradient(on, wg);
  const auto blocks = static_cast<std::int64_t>(wg.blocks.size());
  const std::int64_t groups = g.options.groups;
  const std::int64_t all_sums = groups * wg.sums();
  const std::int64_t chunks =
      std::clamp<std::int64_t>(std::min(blocks / 4, kMaxSums / all_sums), 1, kWantedTasks);
  const std::int64_t slices =
      std::clamp<std::int64_t>(kWantedTasks / (chunks * groups), 1, wg.parts());
  const FloatWorkspace sums(on.workspace, chunks * all_sums);
  if (blocks == 0) std::fill_n(sums.data(), all_sums, 0.0F);
  TaskBuffers buffers(on.workspace, on.threads, scratch_elements(wg) / 2 + kTile);
  on.threads.run(groups * slices * chunks, [&](std::int64_t i) {
    const std::int64_t chunk = i % chunks;
    const std::int64_t slice = i / chunks % slices;
    const std::int64_t group = i / chunks / slices;
    const TaskBuffers::Lease buffer(buffers);
    run_task(on,
             wg,
             {.group = group,
              .first = wg.parts() * slice / slices,
              .last = wg.parts() * (slice + 1) / slices,
              .begin = blocks * chunk / chunks,
              .end = blocks * (chunk + 1) / chunks,
              .sums = sums.data() + chunk * all_sums + group * wg.sums()},
             gradient,
             reinterpret_cast<Bf16Bits*>(buffer.data()));
  });
  store_sums(on, wg, sums.data(), chunks, dw, mode);
}

}  // namespace learn::cpu
