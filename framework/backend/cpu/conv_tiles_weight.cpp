#include "framework/backend/cpu/conv_tiles.h"
#include "framework/backend/cpu/task_buffers.h"
#include "framework/backend/cpu/tile_gather.h"
#include "framework/backend/cpu/vectorize.h"
#include "framework/tensor/convert.h"

#include <algorithm>

namespace learn::backend::cpu {
namespace {

using simd::Bf16Bits;
using simd::kTile;
using simd::kTileDepth;
using simd::kTilePanel;

constexpr std::int64_t kPixels = 512;  // a panel of as many gathered pixels takes 32 kB
constexpr std::int64_t kPixelStride = kPixels + kTileDepth;  // no power of two: see conv_tiles.cpp
constexpr std::int64_t kWantedTasks = 16;
constexpr std::int64_t kMaxSums = 1 << 21;  // floats; more partial results than that cost traffic

constexpr std::int64_t blocks_of(std::int64_t n, std::int64_t size) {
  return (n + size - 1) / size;
}

/// dw (k, taps * c) = sum over output pixels of dy (pixel, k) * gathered x (pixel, taps * c), with
/// dy transposed and x in panels of columns.
struct WeightGradient {
  const ConvGeometry& g;
  TileAxis rows, columns;
  const Bf16Bits* x;
  const Bf16Bits* dy;

  [[nodiscard]] std::int64_t pixels() const { return g.n * g.p * g.q; }
  [[nodiscard]] std::int64_t blocks() const { return blocks_of(pixels(), kPixels); }
  [[nodiscard]] std::int64_t width() const { return g.r * g.s * g.group_c(); }
  [[nodiscard]] std::int64_t panels() const { return blocks_of(width(), kTilePanel); }
  /// Extents of a group's sums in whole tiles.
  [[nodiscard]] std::int64_t sum_rows() const { return blocks_of(g.group_k(), kTile) * kTile; }
  [[nodiscard]] std::int64_t sum_stride() const { return panels() * kTilePanel; }
  [[nodiscard]] std::int64_t sums() const { return sum_rows() * sum_stride(); }
};

/// dy as (group, block of pixels, k, pixel).
void transpose_gradient(const ConvResources& on, const WeightGradient& wg, Bf16Bits* to) {
  on.threads.run(wg.g.options.groups * wg.blocks(), [&](std::int64_t i) {
    const std::int64_t begin = i % wg.blocks() * kPixels;
    on.tiles->transpose(wg.dy + begin * wg.g.k + i / wg.blocks() * wg.g.group_k(),
                        wg.g.k,
                        std::min(kPixels, wg.pixels() - begin),
                        wg.g.group_k(),
                        to + i * wg.sum_rows() * kPixelStride,
                        kPixelStride);
  });
}

/// Taps and channels of the columns of one panel.
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

/// Panels [first, last) of one group over blocks [begin, end) of pixels.
struct Task {
  std::int64_t group, first, last, begin, end;
  float* sums;
};

void run_task(const ConvResources& on,
              const WeightGradient& wg,
              const Task& t,
              const Bf16Bits* transposed,
              Bf16Bits* gathered) {
  const TileGrid grid{wg.g.n, wg.rows, wg.columns};
  Bf16Bits* const panel = gathered + kPixels * kTilePanel;
  std::vector<std::vector<TilePiece>> pieces;
  for (std::int64_t p = t.first; p < t.last; ++p) pieces.push_back(pieces_of(wg, t.group, p));
  for (std::int64_t block = t.begin; block < t.end; ++block) {
    const std::int64_t begin = block * kPixels;
    const std::int64_t pixels = std::min(kPixels, wg.pixels() - begin);
    const std::int64_t depth = blocks_of(pixels, kTileDepth) * kTileDepth;
    // Pixels that fill up the last tile are zero in both operands.
    std::fill_n(gathered + pixels * kTilePanel, (depth - pixels) * kTilePanel, Bf16Bits{0});
    for (std::int64_t p = t.first; p < t.last; ++p) {
      gather_pieces(*on.tiles,
                    grid,
                    {wg.x, wg.g.c},
                    pieces[static_cast<std::size_t>(p - t.first)],
                    begin,
                    begin + pixels,
                    gathered,
                    kTilePanel);
      on.tiles->panel_of_rows(gathered, kTilePanel, depth, kTilePanel, panel);
      const std::int64_t at = (t.group * wg.blocks() + block) * wg.sum_rows() * kPixelStride;
      on.tiles->multiply({.a = transposed + at,
                          .a_stride = kPixelStride,
                          .b = panel,
                          .b_panel = 0,
                          .c = t.sums + p * kTilePanel,
                          .c_stride = wg.sum_stride(),
                          .rows = wg.sum_rows(),
                          .columns = kTilePanel,
                          .depth = depth,
                          .accumulate = block > t.begin});
    }
  }
}

/// dw (+)= the sums of all chunks, in order.
void store_sums(const ConvResources& on,
                const WeightGradient& wg,
                const float* sums,
                std::int64_t chunks,
                BFloat16* dw,
                GradMode mode) {
  const std::int64_t width = wg.width();
  const std::int64_t group_k = wg.g.group_k();
  const std::int64_t between = wg.g.options.groups * wg.sums();
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(width, 1));
  simd::parallel_for(
      on.threads,
      wg.g.k,
      grain,
      [=, stride = wg.sum_stride(), per_group = wg.sums()](std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin; k < end; ++k) {
          const float* row = sums + k / group_k * per_group + k % group_k * stride;
          LEARN_VECTORIZE
          for (std::int64_t j = 0; j < width; ++j) {
            float sum = mode == GradMode::accumulate ? as_float(dw[k * width + j]) : 0;
            for (std::int64_t c = 0; c < chunks; ++c) sum += row[c * between + j];
            dw[k * width + j] = from_float<BFloat16>(sum);
          }
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
  const Conv2dOptions& o = g.options;
  const WeightGradient wg{g,
                          forward_axis(g.p, g.h, g.r, o.stride_h, o.pad_top).front(),
                          forward_axis(g.q, g.w, g.s, o.stride_w, o.pad_left).front(),
                          reinterpret_cast<const Bf16Bits*>(x),
                          reinterpret_cast<const Bf16Bits*>(dy)};
  const FloatWorkspace transposed(on.workspace,
                                  o.groups * wg.blocks() * wg.sum_rows() * kPixelStride / 2);
  auto* const by_channel = reinterpret_cast<Bf16Bits*>(transposed.data());
  transpose_gradient(on, wg, by_channel);

  const std::int64_t all_sums = o.groups * wg.sums();
  const std::int64_t chunks =
      std::clamp<std::int64_t>(std::min(wg.blocks() / 4, kMaxSums / all_sums), 1, kWantedTasks);
  const std::int64_t slices =
      std::clamp<std::int64_t>(kWantedTasks / (chunks * o.groups), 1, wg.panels());
  const FloatWorkspace sums(on.workspace, chunks * all_sums);
  TaskBuffers buffers(on.workspace, on.threads, kPixels * kTilePanel);
  on.threads.run(o.groups * slices * chunks, [&](std::int64_t i) {
    const std::int64_t chunk = i % chunks;
    const std::int64_t slice = i / chunks % slices;
    const std::int64_t group = i / chunks / slices;
    const TaskBuffers::Lease buffer(buffers);
    run_task(on,
             wg,
             {.group = group,
              .first = wg.panels() * slice / slices,
              .last = wg.panels() * (slice + 1) / slices,
              .begin = wg.blocks() * chunk / chunks,
              .end = wg.blocks() * (chunk + 1) / chunks,
              .sums = sums.data() + chunk * all_sums + group * wg.sums()},
             by_channel,
             reinterpret_cast<Bf16Bits*>(buffer.data()));
  });
  if (wg.blocks() == 0) std::fill_n(sums.data(), all_sums, 0.0F);
  store_sums(on, wg, sums.data(), chunks, dw, mode);
}

}  // namespace learn::backend::cpu
