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

// Gathered rows and sums of a task take half a megabyte each of the second-level cache, while
// panels of weights stream past them.
constexpr std::int64_t kRows = 256;
constexpr std::int64_t kDepth = 1024;
constexpr std::int64_t kColumns = 512;
constexpr std::int64_t kWantedTasks = 16;
// Rows lie a bit more than their length apart: a power of two would map the 16 of a tile to few
// lines of the first-level cache.
constexpr std::int64_t kRowGap = 32;
constexpr std::int64_t kSumGap = 16;

constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

/// Results that see the same taps, as one matrix product.
struct Part {
  const TileAxis& rows;
  const TileAxis& columns;
  std::int64_t depth;      // taps x channels in whole tiles
  std::int64_t panels_at;  // elements

  [[nodiscard]] std::int64_t taps() const {
    return static_cast<std::int64_t>(rows.taps.size() * columns.taps.size());
  }
};

/// Where the weights of a panel lie, and how they are laid out: elements from one to the next.
struct WeightLayout {
  decltype(simd::TileKernels::panel_of_rows) make_panel;
  std::int64_t group, panel, tap, row;
};

/// The forward pass and the gradient of the input are the same computation: every pixel of `to`
/// sums, over some taps, the channels of a pixel of `from` times a matrix of weights.
struct TileConv {
  std::int64_t n, groups, window_w;
  std::int64_t from_c;            // of a group
  std::int64_t to_h, to_w, to_c;  // to (n, to_h, to_w, groups * to_c)
  std::vector<TileAxis> rows, columns;
  const BFloat16* from;
  const BFloat16* weight;
  WeightLayout layout;
  const BFloat16* bias;
  BFloat16* to;
  bool accumulate;

  /// Channels of a tap in the summed dimension, which is interleaved in pairs.
  [[nodiscard]] std::int64_t tap_depth() const { return round_up(from_c, 2); }
  [[nodiscard]] std::int64_t panels_per_group() const {
    return (to_c + kTilePanel - 1) / kTilePanel;
  }
};

std::vector<Part> make_parts(const TileConv& conv) {
  std::vector<Part> parts;
  std::int64_t at = 0;
  for (const TileAxis& rows : conv.rows)
    for (const TileAxis& columns : conv.columns) {
      Part part{rows, columns, 0, at};
      part.depth = round_up(part.taps() * conv.tap_depth(), kTileDepth);
      at += conv.groups * conv.panels_per_group() * part.depth * kTilePanel;
      parts.push_back(part);
    }
  return parts;
}

Bf16Bits* panel_of(Bf16Bits* panels, const Part& part, std::int64_t panel) {
  return panels + part.panels_at + panel * part.depth * kTilePanel;
}

/// Panel `index` of all groups.
void pack_panel(const TileConv& conv, const Part& part, std::int64_t index, Bf16Bits* panel) {
  const WeightLayout& l = conv.layout;
  const std::int64_t in_group = index % conv.panels_per_group();
  const auto* from = reinterpret_cast<const Bf16Bits*>(conv.weight) +
                     index / conv.panels_per_group() * l.group + in_group * l.panel;
  for (const TileAxis::Tap& r : part.rows.taps)
    for (const TileAxis::Tap& s : part.columns.taps) {
      l.make_panel(from + (r.index * conv.window_w + s.index) * l.tap,
                   l.row,
                   conv.from_c,
                   std::min(kTilePanel, conv.to_c - in_group * kTilePanel),
                   panel);
      panel += conv.tap_depth() * kTilePanel;
    }
  std::fill_n(panel, (part.depth - part.taps() * conv.tap_depth()) * kTilePanel, Bf16Bits{0});
}

struct Task {
  const Part* part;
  std::int64_t group;
  std::int64_t begin, end;               // results of the part
  std::int64_t first_panel, last_panel;  // of the group
};

std::vector<Task> cut_into_tasks(const TileConv& conv, const std::vector<Part>& parts) {
  std::vector<Task> tasks;
  for (const Part& part : parts) {
    const std::int64_t results = conv.n * part.rows.count * part.columns.count;
    const std::int64_t rows =
        std::clamp(round_up(results / kWantedTasks, 2 * kTile), 2 * kTile, kRows);
    const std::int64_t blocks = (results + rows - 1) / rows;
    const std::int64_t panels = conv.panels_per_group();
    const std::int64_t wanted = kWantedTasks / std::max<std::int64_t>(1, blocks * conv.groups);
    const std::int64_t slices = std::clamp(wanted, (conv.to_c + kColumns - 1) / kColumns, panels);
    for (std::int64_t group = 0; group < conv.groups; ++group)
      for (std::int64_t b = 0; b < blocks; ++b)
        for (std::int64_t s = 0; s < slices; ++s)
          tasks.push_back({&part,
                           group,
                           b * rows,
                           std::min(results, (b + 1) * rows),
                           panels * s / slices,
                           panels * (s + 1) / slices});
  }
  return tasks;
}

/// What a task gathers of the summed dimension at once.
std::vector<TilePiece> pieces_of(const TileConv& conv,
                                 const Task& t,
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
                const Task& t,
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
    const float* from = sums + s.at * stride;
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

void run_task(const ConvResources& on,
              const TileConv& conv,
              const Task& t,
              const Bf16Bits* panels,
              Bf16Bits* gathered,
              float* sums) {
  const Part& part = *t.part;
  const TileGrid grid{conv.n, part.rows, part.columns};
  const std::int64_t rows = round_up(t.end - t.begin, kTile);
  const std::int64_t first = t.first_panel * kTilePanel;
  const std::int64_t columns =
      round_up(std::min(conv.to_c, t.last_panel * kTilePanel) - first, kTile);
  const std::int64_t row_stride = std::min(part.depth, kDepth) + kRowGap;
  const std::int64_t sum_stride = columns + kSumGap;
  bool accumulate = conv.bias != nullptr || part.depth == 0;
  if (accumulate)
    for (std::int64_t i = 0; i < t.end - t.begin; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        const std::int64_t channel = std::min(first + j, conv.to_c - 1);
        sums[i * sum_stride + j] =
            conv.bias == nullptr ? 0 : to_float(conv.bias[t.group * conv.to_c + channel]);
      }
  // Where tiles are filled up there must be zeros, not what was there before.
  if (part.taps() * conv.from_c != part.depth)
    std::fill_n(gathered, rows * row_stride, Bf16Bits{0});
  for (std::int64_t k = 0; k < part.depth; k += kDepth) {
    const std::int64_t depth = std::min(kDepth, part.depth - k);
    gather_pieces(*on.tiles,
                  grid,
                  {reinterpret_cast<const Bf16Bits*>(conv.from), conv.groups * conv.from_c},
                  pieces_of(conv, t, k, k + depth),
                  t.begin,
                  t.end,
                  gathered,
                  row_stride);
    on.tiles->multiply({.a = gathered,
                        .a_stride = row_stride,
                        .b = panels + k * kTilePanel,
                        .b_panel = part.depth * kTilePanel,
                        .c = sums,
                        .c_stride = sum_stride,
                        .rows = rows,
                        .columns = columns,
                        .depth = depth,
                        .accumulate = accumulate});
    accumulate = true;
  }
  store_sums(conv, t, grid, sums, sum_stride);
}

void run(const ConvResources& on, const TileConv& conv) {
  const std::vector<Part> parts = make_parts(conv);
  const std::int64_t panels = conv.groups * conv.panels_per_group();
  std::int64_t elements = 0;
  std::int64_t depth = 0;
  for (const Part& part : parts) {
    elements += panels * part.depth * kTilePanel;
    depth = std::max(depth, std::min(part.depth, kDepth));
  }
  const FloatWorkspace packed(on.workspace, elements / 2);
  auto* weights = reinterpret_cast<Bf16Bits*>(packed.data());
  on.threads.run(static_cast<std::int64_t>(parts.size()) * panels, [&](std::int64_t i) {
    const Part& part = parts[static_cast<std::size_t>(i / panels)];
    pack_panel(conv, part, i % panels, panel_of(weights, part, i % panels));
  });

  const std::vector<Task> tasks = cut_into_tasks(conv, parts);
  const std::int64_t gathered = kRows * (depth + kRowGap) / 2;
  const std::int64_t columns = std::min(round_up(conv.to_c, kTilePanel), kColumns);
  TaskBuffers buffers(on.workspace, on.threads, gathered + kRows * (columns + kSumGap));
  on.threads.run(static_cast<std::int64_t>(tasks.size()), [&](std::int64_t i) {
    const Task& t = tasks[static_cast<std::size_t>(i)];
    const TaskBuffers::Lease buffer(buffers);
    const std::int64_t first = t.group * conv.panels_per_group() + t.first_panel;
    run_task(on,
             conv,
             t,
             panel_of(weights, *t.part, first),
             reinterpret_cast<Bf16Bits*>(buffer.data()),
             buffer.data() + gathered);
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
       .layout = {.make_panel = on.tiles->panel_of_columns,
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
       .layout = {.make_panel = on.tiles->panel_of_rows,
                  .group = g.group_k() * filter,
                  .panel = kTilePanel,
                  .tap = g.group_c(),
                  .row = filter},
       .bias = nullptr,
       .to = dx,
       .accumulate = mode == GradMode::accumulate});
}

}  // namespace learn::backend::cpu
