#include "framework/kernels/conv/cpu/conv_tiles.h"

#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/conv/cpu/conv_tiles_plan.h"
#include "framework/tensor/convert.h"

#include <algorithm>

namespace learn::cpu {
namespace {

using simd::Bf16Bits;
using simd::kTile;
using simd::kTilePanel;

Bf16Bits* panel_of(Bf16Bits* panels, const TilePart& part, std::int64_t panel) {
  return panels + part.panels_at + panel * part.depth * kTilePanel;
}

/// Returns the pieces of the summed dimension that a task gathers at once.
std::vector<TilePiece> pieces_of(const TileConv& conv,
                                 const TileTask& t,
                                 std::int64_t begin,
                                 std::int64_t end) {
  std::vector<TilePiece> pieces;
  std::int64_t at = 0;
  for (const TileAxis::Tap& r : t.part->rows.taps)
    for (const TileAxis::Tap& s : t.part->columns.taps) {
      const std::int64_t first = std::max(begin, at);
      const std::int64_t last = std::min(end, at + conv.from_c);
      if (first < last)
        pieces.push_back({r, s, t.group * conv.from_c + first - at, last - first, first - begin});
      at += conv.tap_depth();
    }
  return pieces;
}

/// Rounds the sums of a task to bf16.
void store_sums(const TileConv& conv,
                const TileTask& t,
                const TileGrid& grid,
                const float* sums,
                std::int64_t stride) {
  const std::int64_t first = t.first_panel * kTilePanel;
  const std::int64_t columns = std::min(conv.to_c, t.last_panel * kTilePanel) - first;
  const std::int64_t step = grid.columns.step * conv.groups * conv.to_c;
  const bool accumulate = conv.accumulate;
  for_segments(grid, t.begin, t.end, [&](const GridSegment& s) {
    const std::int64_t row = s.image * conv.to_h + grid.rows.first + s.row * grid.rows.step;
    const std::int64_t pixel = row * conv.to_w + grid.columns.first + s.column * grid.columns.step;
    BFloat16* to = conv.to + (pixel * conv.groups + t.group) * conv.to_c + first;
    const auto& strip = t.part->strip;
    const float* from = sums + (strip ? s.at / grid.columns.count * strip->width : s.at) * stride;
    simd::run([=, length = s.length] {
      for (std::int64_t i = 0; i < length; ++i) {
        BFloat16* out = to + i * step;
        const float* in = from + i * stride;
        LEARN_VECTORIZE
        for (std::int64_t j = 0; j < columns; ++j)
          out[j] = from_float<BFloat16>(accumulate ? as_float(out[j]) + in[j] : in[j]);
      }
    });
  });
}

/// A part of a task's product: the columns of its panels, all rows of sums.
struct TaskProduct {
  const TileConv& conv;
  const TileTask& task;
  TileGrid grid;
  simd::TileProduct product;  // everything except the left operand and the runs

  TaskProduct(const TileConv& c, const TileTask& t, const Bf16Bits* panels, float* sums)
      : conv(c), task(t), grid{c.n, t.part->rows, t.part->columns}, product{} {
    product.b = panels;
    product.b_stride = 2 * kTilePanel;
    product.b_panel = t.part->depth * kTilePanel;
    product.c = sums;
    product.rows = t.sum_rows();
    product.columns = t.sum_columns(c);
    product.c_stride = product.columns + kTileSumGap;
  }

  void multiply(const simd::TileKernels& kernels, const std::vector<simd::TileRun>& runs) {
    product.runs = runs.data();
    product.run_count = static_cast<std::int64_t>(runs.size());
    kernels.multiply(product);
    product.accumulate = true;
  }

  /// Sets the sums to the bias, or to zero if there is nothing to add.
  void begin_with_bias() {
    const std::int64_t first = task.first_panel * kTilePanel;
    for (std::int64_t i = 0; i < product.rows; ++i)
      for (std::int64_t j = 0; j < product.columns; ++j) {
        const std::int64_t channel = std::min(first + j, conv.to_c - 1);
        product.c[i * product.c_stride + j] =
            conv.bias == nullptr ? 0 : to_float(conv.bias[task.group * conv.to_c + channel]);
      }
    product.accumulate = true;
  }

  [[nodiscard]] TileSource source() const {
    return {reinterpret_cast<const Bf16Bits*>(conv.from), conv.groups * conv.from_c};
  }

  void from_gathered(const simd::TileKernels& kernels, Bf16Bits* gathered) {
    const TilePart& part = *task.part;
    product.a = gathered;
    product.a_stride = std::min(part.depth, kGatheredDepth) + kTileRowGap;
    // Parts that fill up tiles must be zero, not left over from before.
    if (part.taps() * conv.from_c != part.depth)
      std::fill_n(gathered, product.rows * product.a_stride, Bf16Bits{0});
    for (std::int64_t k = 0; k < part.depth; k += kGatheredDepth) {
      const std::int64_t depth = std::min(kGatheredDepth, part.depth - k);
      gather_pieces(kernels,
                    grid,
                    source(),
                    pieces_of(conv, task, k, k + depth),
                    task.begin,
                    task.end,
                    gathered,
                    product.a_stride);
      multiply(kernels, {{0, k, depth}});
    }
  }

  void from_strip(const simd::TileKernels& kernels, Bf16Bits* copy) {
    const TilePart& part = *task.part;
    const std::int64_t row = task.begin / part.columns.count;
    const std::int64_t begin = row % part.rows.count;
    copy_strip(kernels,
               *part.strip,
               grid,
               source(),
               row / part.rows.count,
               begin,
               begin + (task.end - task.begin) / part.columns.count,
               task.group * conv.from_c,
               conv.from_c,
               copy);
    product.a = copy;
    product.a_stride = conv.from_c;
    std::vector<simd::TileRun> runs;
    std::int64_t k = 0;
    for (const TileAxis::Tap& r : part.rows.taps)
      for (const TileAxis::Tap& s : part.columns.taps) {
        runs.push_back({part.strip->offset(r, s) * conv.from_c, k, conv.from_c});
        k += conv.from_c;
      }
    multiply(kernels, runs);
  }
};

void run_task(const ConvResources& on,
              const TileConv& conv,
              const TileTask& t,
              const Bf16Bits* panels,
              Bf16Bits* source,
              float* sums) {
  TaskProduct product(conv, t, panels, sums);
  if (conv.bias != nullptr || t.part->depth == 0) product.begin_with_bias();
  if (t.part->strip)
    product.from_strip(*on.tiles, source);
  else
    product.from_gathered(*on.tiles, source);
  store_sums(conv, t, product.grid, sums, product.product.c_stride);
}

void run(const ConvResources& on, const TileConv& conv) {
  const std::vector<TilePart> parts = make_parts(conv);
  const std::int64_t panels = conv.groups * conv.panels_per_group();
  const std::int64_t elements = parts.back().panels_at + panels * parts.back().depth * kTilePanel;
  const FloatWorkspace packed(on.workspace, elements / 2);
  auto* weights = reinterpret_cast<Bf16Bits*>(packed.data());
  on.threads.run(static_cast<std::int64_t>(parts.size()) * panels, [&](std::int64_t i) {
    const TilePart& part = parts[static_cast<std::size_t>(i / panels)];
    pack_panel(conv, part, i % panels, panel_of(weights, part, i % panels));
  });

  const std::vector<TileTask> tasks = cut_into_tasks(conv, parts);
  std::int64_t source = 0;
  std::int64_t sums = 0;
  for (const TileTask& t : tasks) {
    source = std::max(source, t.source_elements(conv) / 2 + kTile);
    sums = std::max(sums, t.sum_rows() * (t.sum_columns(conv) + kTileSumGap));
  }
  TaskBuffers buffers(on.workspace, on.threads, source + sums);
  on.threads.run(static_cast<std::int64_t>(tasks.size()), [&](std::int64_t i) {
    const TileTask& t = tasks[static_cast<std::size_t>(i)];
    const TaskBuffers::Lease buffer(buffers);
    const std::int64_t first = t.group * conv.panels_per_group() + t.first_panel;
    run_task(on,
             conv,
             t,
             panel_of(weights, *t.part, first),
             reinterpret_cast<Bf16Bits*>(buffer.data()),
             buffer.data() + source);
  });
}

}  // namespace

bool tiles_apply(const ConvGeometry& g) {
  return g.group_c() * g.r * g.s >= kTile && g.group_k() >= kTile / 2;
}

void tiles_forward(const ConvResources& on,
                   const ConvGeometry& g,
                   const BFloat16* x,
                   const BFloat16* weight,
                   const BFloat16* bias,
                   BFloat16* y) {
  const Conv2dOptions& o = g.options;
  const std::int64_t filter = g.r * g.s * g.group_c();
  run(on,
      {.n = g.n,
       .groups = o.groups,
       .window_w = g.s,
       .from_c = g.group_c(),
       .to_h = g.p,
       .to_w = g.q,
       .to_c = g.group_k(),
       .rows = forward_axis(g.p, g.h, g.r, o.stride_h, o.pad_top),
       .columns = forward_axis(g.q, g.w, g.s, o.stride_w, o.pad_left),
       .from = x,
       .weight = weight,
       .layout = {.pair = on.tiles->pair_columns,
                  .group = g.group_k() * filter,
                  .panel = kTilePanel * filter,
                  .tap = g.group_c(),
                  .row = filter},
       .bias = bias,
       .to = y,
       .accumulate = false});
}

void tiles_backward_data(const ConvResources& on,
                         const ConvGeometry& g,
                         const BFloat16* dy,
                         const BFloat16* weight,
                         BFloat16* dx,
                         GradMode mode) {
  const Conv2dOptions& o = g.options;
  const std::int64_t filter = g.r * g.s * g.group_c();
  run(on,
      {.n = g.n,
       .groups = o.groups,
       .window_w = g.s,
       .from_c = g.group_k(),
       .to_h = g.h,
       .to_w = g.w,
       .to_c = g.group_c(),
       .rows = backward_axis(g.h, g.p, g.r, o.stride_h, o.pad_top),
       .columns = backward_axis(g.w, g.q, g.s, o.stride_w, o.pad_left),
       .from = dy,
       .weight = weight,
       .layout = {.pair = on.tiles->pair_rows,
                  .group = g.group_k() * filter,
                  .panel = kTilePanel,
                  .tap = g.group_c(),
                  .row = filter},
       .bias = nullptr,
       .to = dx,
       .accumulate = mode == GradMode::accumulate});
}

}  // namespace learn::cpu
