#include "framework/backend/cpu/conv_tiles.h"

#include "framework/backend/cpu/task_buffers.h"
#include "framework/backend/cpu/tile_picture.h"
#include "framework/backend/cpu/vectorize.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <optional>

namespace learn::backend::cpu {
namespace {

using simd::Bf16Bits;
using simd::kTile;
using simd::kTileDepth;
using simd::kTilePanel;

// What a task reads and its sums take about half a megabyte each of the second-level cache, while
// weights stream past them.
constexpr std::int64_t kRows = 256;
constexpr std::int64_t kDepth = 1024;
constexpr std::int64_t kColumns = 512;
constexpr std::int64_t kPictureRows = 544;  // 16 rows of 32 pixels and their padding
constexpr std::int64_t kPictureColumns = 256;
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
  std::int64_t depth;                  // taps x channels in whole tiles
  std::int64_t panels_at;              // elements
  std::optional<TilePicture> picture;  // else rows are gathered tap by tap

  [[nodiscard]] std::int64_t taps() const {
    return static_cast<std::int64_t>(rows.taps.size() * columns.taps.size());
  }
};

/// Where the weights of a panel lie, and how they are laid out: elements from one to the next.
struct WeightLayout {
  decltype(simd::TileKernels::pair_rows) pair;
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
      Part part{rows, columns, 0, at, {}};
      if (conv.from_c % kTileDepth == 0 && TilePicture::pays(rows, columns))
        part.picture.emplace(rows, columns);
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
      l.pair(from + (r.index * conv.window_w + s.index) * l.tap,
             l.row,
             conv.from_c,
             std::min(kTilePanel, conv.to_c - in_group * kTilePanel),
             panel,
             2 * kTilePanel);
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

/// Cuts the results of a part into ranges; those from a picture are whole rows of one picture.
std::vector<std::pair<std::int64_t, std::int64_t>> ranges_of(const TileConv& conv,
                                                             const Part& part) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  const std::int64_t width = part.columns.count;
  const std::int64_t height = part.rows.count;
  const std::int64_t results = conv.n * height * width;
  if (!part.picture) {
    const std::int64_t rows =
        std::clamp(round_up(results / kWantedTasks, 2 * kTile), 2 * kTile, kRows);
    for (std::int64_t i = 0; i < results; i += rows)
      ranges.emplace_back(i, std::min(results, i + rows));
    return ranges;
  }
  const std::int64_t rows = std::max<std::int64_t>(1, kPictureRows / part.picture->width);
  const std::int64_t blocks = (height + rows - 1) / rows;
  for (std::int64_t n = 0; n < conv.n; ++n)
    for (std::int64_t b = 0; b < blocks; ++b)
      ranges.emplace_back((n * height + height * b / blocks) * width,
                          (n * height + height * (b + 1) / blocks) * width);
  return ranges;
}

std::vector<Task> cut_into_tasks(const TileConv& conv, const std::vector<Part>& parts) {
  std::vector<Task> tasks;
  for (const Part& part : parts) {
    const auto ranges = ranges_of(conv, part);
    const std::int64_t panels = conv.panels_per_group();
    const std::int64_t most = part.picture ? kPictureColumns : kColumns;
    const std::int64_t wanted =
        kWantedTasks /
        std::max<std::int64_t>(1, static_cast<std::int64_t>(ranges.size()) * conv.groups);
    const std::int64_t slices = std::clamp(wanted, (conv.to_c + most - 1) / most, panels);
    for (std::int64_t group = 0; group < conv.groups; ++group)
      for (const auto& [begin, end] : ranges)
        for (std::int64_t s = 0; s < slices; ++s)
          tasks.push_back(
              {&part, group, begin, end, panels * s / slices, panels * (s + 1) / slices});
  }
  return tasks;
}

/// Rows of sums that a task has.
std::int64_t sum_rows(const Task& t) {
  const Part& part = *t.part;
  const std::int64_t results = t.end - t.begin;
  return round_up(part.picture ? results / part.columns.count * part.picture->width : results,
                  kTile);
}

/// Elements that it reads its left operand from.
std::int64_t source_elements(const TileConv& conv, const Task& t) {
  const Part& part = *t.part;
  if (!part.picture) return sum_rows(t) * (std::min(part.depth, kDepth) + kRowGap);
  return part.picture->pixels((t.end - t.begin) / part.columns.count, kTile) * conv.from_c;
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
    const auto& picture = t.part->picture;
    const float* from =
        sums + (picture ? s.at / grid.columns.count * picture->width : s.at) * stride;
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

/// Part of the product of a task: the columns of its panels, all rows of sums.
struct TaskProduct {
  const TileConv& conv;
  const Task& task;
  TileGrid grid;
  simd::TileProduct product;  // all but the left operand and the runs

  TaskProduct(const TileConv& c, const Task& t, const Bf16Bits* panels, float* sums)
      : conv(c), task(t), grid{c.n, t.part->rows, t.part->columns}, product{} {
    const std::int64_t first = t.first_panel * kTilePanel;
    product.b = panels;
    product.b_stride = 2 * kTilePanel;
    product.b_panel = t.part->depth * kTilePanel;
    product.c = sums;
    product.rows = sum_rows(t);
    product.columns = round_up(std::min(c.to_c, t.last_panel * kTilePanel) - first, kTile);
    product.c_stride = product.columns + kSumGap;
  }

  void multiply(const simd::TileKernels& kernels, const std::vector<simd::TileRun>& runs) {
    product.runs = runs.data();
    product.run_count = static_cast<std::int64_t>(runs.size());
    kernels.multiply(product);
    product.accumulate = true;
  }

  /// Sums begin with the bias, or with zero where there is nothing to add.
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
    const Part& part = *task.part;
    product.a = gathered;
    product.a_stride = std::min(part.depth, kDepth) + kRowGap;
    // Where tiles are filled up there must be zeros, not what was there before.
    if (part.taps() * conv.from_c != part.depth)
      std::fill_n(gathered, product.rows * product.a_stride, Bf16Bits{0});
    for (std::int64_t k = 0; k < part.depth; k += kDepth) {
      const std::int64_t depth = std::min(kDepth, part.depth - k);
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

  void from_picture(const simd::TileKernels& kernels, Bf16Bits* copy) {
    const Part& part = *task.part;
    const std::int64_t row = task.begin / part.columns.count;
    const std::int64_t begin = row % part.rows.count;
    copy_picture(kernels,
                 *part.picture,
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
        runs.push_back({part.picture->offset(r, s) * conv.from_c, k, conv.from_c});
        k += conv.from_c;
      }
    multiply(kernels, runs);
  }
};

void run_task(const ConvResources& on,
              const TileConv& conv,
              const Task& t,
              const Bf16Bits* panels,
              Bf16Bits* source,
              float* sums) {
  TaskProduct product(conv, t, panels, sums);
  if (conv.bias != nullptr || t.part->depth == 0) product.begin_with_bias();
  if (t.part->picture)
    product.from_picture(*on.tiles, source);
  else
    product.from_gathered(*on.tiles, source);
  store_sums(conv, t, product.grid, sums, product.product.c_stride);
}

void run(const ConvResources& on, const TileConv& conv) {
  const std::vector<Part> parts = make_parts(conv);
  const std::int64_t panels = conv.groups * conv.panels_per_group();
  const std::int64_t elements = parts.back().panels_at + panels * parts.back().depth * kTilePanel;
  const FloatWorkspace packed(on.workspace, elements / 2);
  auto* weights = reinterpret_cast<Bf16Bits*>(packed.data());
  on.threads.run(static_cast<std::int64_t>(parts.size()) * panels, [&](std::int64_t i) {
    const Part& part = parts[static_cast<std::size_t>(i / panels)];
    pack_panel(conv, part, i % panels, panel_of(weights, part, i % panels));
  });

  const std::vector<Task> tasks = cut_into_tasks(conv, parts);
  std::int64_t source = 0;
  std::int64_t sums = 0;
  for (const Task& t : tasks) {
    source = std::max(source, round_up(source_elements(conv, t), 2 * kTileDepth) / 2);
    sums = std::max(sums, sum_rows(t) * ((t.last_panel - t.first_panel) * kTilePanel + kSumGap));
  }
  TaskBuffers buffers(on.workspace, on.threads, source + sums);
  on.threads.run(static_cast<std::int64_t>(tasks.size()), [&](std::int64_t i) {
    const Task& t = tasks[static_cast<std::size_t>(i)];
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

}  // namespace learn::backend::cpu
