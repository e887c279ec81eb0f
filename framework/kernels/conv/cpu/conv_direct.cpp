#include "framework/kernels/conv/cpu/conv_direct.h"

#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/conv/cpu/conv_border.h"
#include "framework/kernels/conv/cpu/conv_taps.h"
#include "framework/kernels/conv/cpu/packed_weights.h"

#include <algorithm>

namespace learn::cpu {
namespace {

using simd::kPanel;

// A block of gathered rows stays in the second-level cache (244 kB), and a panel of its weights in
// the first (32 kB).
constexpr std::int64_t kDepth = 256;
// Rows are slightly further apart than their length. A power of two would map them all to the same
// lines of the first-level cache.
constexpr std::int64_t kRowStride = kDepth + 16;
constexpr std::int64_t kRows = 224;
constexpr std::int64_t kWantedTasks = 16;
constexpr std::int64_t kMaxTasks = 64;  // of those that are long enough

/// A forward pass or a gradient of the input, which are the same computation: every pixel of `to`
/// sums, over some taps, the channels of a pixel of `from` times a matrix of weights.
struct Gather {
  std::int64_t n, groups;
  std::int64_t from_h, from_w, from_c;  // from (n, from_h, from_w, groups * from_c)
  std::int64_t to_h, to_w, to_c;        // to (n, to_h, to_w, groups * to_c)
  std::int64_t window_w;
  std::vector<AxisClass> rows, columns;
  const float* from;
  float* to;
  const float* panels;  // [group][to_c / 32][tap][from_c][32]
  std::int64_t panel_floats;
  const float* bias;
  bool accumulate;
  const ConvEpilogue* epilogue = nullptr;

  [[nodiscard]] std::int64_t panels_per_group() const { return ceil_div(to_c, kPanel); }
};

/// A part of the summed dimension that is gathered and multiplied at once.
struct DepthBlock {
  std::vector<simd::Copy> copies;
  std::vector<simd::Run> runs;
  std::int64_t depth = 0;
};

void add_piece(DepthBlock& block, std::int64_t from, std::int64_t panel_row, std::int64_t length) {
  const std::int64_t at = block.depth;
  if (!block.copies.empty() && block.copies.back().from + block.copies.back().length == from)
    block.copies.back().length += length;
  else
    block.copies.push_back({from, at, length});
  if (!block.runs.empty() &&
      block.runs.back().b + block.runs.back().depth * kPanel == panel_row * kPanel)
    block.runs.back().depth += length;
  else
    block.runs.push_back({at, panel_row * kPanel, length});
  block.depth += length;
}

/// Divides taps x channels into blocks of at most kDepth.
std::vector<DepthBlock> depth_blocks(const Gather& g, const AxisClass& row, const AxisClass& col) {
  std::vector<DepthBlock> blocks;
  for (const AxisClass::Tap& r : row.taps)
    for (const AxisClass::Tap& s : col.taps) {
      const std::int64_t from = (r.offset * g.from_w + s.offset) * g.from_c * g.groups;
      const std::int64_t panel_row = (r.index * g.window_w + s.index) * g.from_c;
      for (std::int64_t done = 0; done < g.from_c;) {
        if (blocks.empty() || blocks.back().depth == kDepth) blocks.emplace_back();
        const std::int64_t length = std::min(g.from_c - done, kDepth - blocks.back().depth);
        add_piece(blocks.back(), from + done, panel_row + done, length);
        done += length;
      }
    }
  return blocks;
}

struct Task {
  std::int64_t group, row_class, column_class;
  std::int64_t begin, end;               // rows of the class, in all images
  std::int64_t first_panel, last_panel;  // panels of the group
};

/// Returns the tasks with large classes first, because the pool hands out tasks in this order.
std::vector<Task> cut_into_tasks(const Gather& g) {
  std::vector<Task> whole;
  std::int64_t row_blocks = 0;
  for (std::int64_t group = 0; group < g.groups; ++group)
    for (std::size_t i = 0; i < g.rows.size(); ++i)
      for (std::size_t j = 0; j < g.columns.size(); ++j) {
        const auto rows =
            static_cast<std::int64_t>(g.rows[i].positions.size() * g.columns[j].positions.size()) *
            g.n;
        whole.push_back({group,
                         static_cast<std::int64_t>(i),
                         static_cast<std::int64_t>(j),
                         0,
                         rows,
                         0,
                         g.panels_per_group()});
        row_blocks += ceil_div(rows, kRows);
      }
  std::stable_sort(
      whole.begin(), whole.end(), [](const Task& a, const Task& b) { return a.end > b.end; });
  // Each slice gathers all rows, which takes little of the time of four panels.
  const auto slices_for = [&](std::int64_t tasks) {
    return tasks / std::max<std::int64_t>(row_blocks, 1);
  };
  const std::int64_t slices = std::clamp<std::int64_t>(
      std::max(slices_for(kWantedTasks), std::min(slices_for(kMaxTasks), g.panels_per_group() / 4)),
      1,
      g.panels_per_group());
  std::vector<Task> tasks;
  for (const Task& t : whole) {
    const std::int64_t blocks = ceil_div(t.end, kRows);
    for (std::int64_t b = 0; b < blocks; ++b)
      for (std::int64_t s = 0; s < slices; ++s) {
        Task part = t;
        part.begin = t.end * b / blocks;
        part.end = t.end * (b + 1) / blocks;
        part.first_panel = t.last_panel * s / slices;
        part.last_panel = t.last_panel * (s + 1) / slices;
        tasks.push_back(part);
      }
  }
  return tasks;
}

struct RowPlaces {
  const float* from[kRows];
  float* to[kRows];
};

void find_rows(const Gather& g, const Task& t, RowPlaces& places) {
  const auto& rows = g.rows[static_cast<std::size_t>(t.row_class)].positions;
  const auto& columns = g.columns[static_cast<std::size_t>(t.column_class)].positions;
  std::size_t column = static_cast<std::size_t>(t.begin) % columns.size();
  std::size_t row = static_cast<std::size_t>(t.begin) / columns.size() % rows.size();
  auto n =
      static_cast<std::int64_t>(static_cast<std::size_t>(t.begin) / columns.size() / rows.size());
  for (std::int64_t i = 0; i < t.end - t.begin; ++i) {
    const std::int64_t from = (n * g.from_h + rows[row].from) * g.from_w + columns[column].from;
    const std::int64_t to = (n * g.to_h + rows[row].to) * g.to_w + columns[column].to;
    places.from[i] = g.from + (from * g.groups + t.group) * g.from_c;
    places.to[i] = g.to + (to * g.groups + t.group) * g.to_c;
    if (++column < columns.size()) continue;
    column = 0;
    if (++row < rows.size()) continue;
    row = 0;
    ++n;
  }
}

/// Returns the floats between neighbouring source rows if the distance is constant, otherwise 0.
/// Rows at a constant distance, as with a 1x1 window, can be multiplied in place.
std::int64_t even_spacing(const RowPlaces& places, std::int64_t rows) {
  if (rows < 2) return 0;
  const std::int64_t spacing = places.from[1] - places.from[0];
  for (std::int64_t i = 2; i < rows; ++i)
    if (places.from[i] - places.from[i - 1] != spacing) return 0;
  return spacing;
}

void run_task(const Gather& g, const Task& t, const simd::Kernels& kernels, float* gathered) {
  RowPlaces places;
  find_rows(g, t, places);
  const std::int64_t rows = t.end - t.begin;
  const std::int64_t first = t.first_panel * kPanel;
  const std::int64_t columns = std::min(g.to_c, t.last_panel * kPanel) - first;
  const std::vector<DepthBlock> blocks =
      depth_blocks(g,
                   g.rows[static_cast<std::size_t>(t.row_class)],
                   g.columns[static_cast<std::size_t>(t.column_class)]);
  bool accumulate = g.accumulate;
  if (!accumulate && (g.bias != nullptr || blocks.empty())) {
    for (std::int64_t i = 0; i < rows; ++i) {
      float* to = places.to[i] + first;
      if (g.bias != nullptr)
        std::copy_n(g.bias + t.group * g.to_c + first, columns, to);
      else
        std::fill_n(to, columns, 0.0F);
    }
    accumulate = true;
  }
  const float* const b =
      g.panels + (t.group * g.panels_per_group() + t.first_panel) * g.panel_floats;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const DepthBlock& block = blocks[i];
    const float* const next =
        i + 1 < blocks.size() ? b + blocks[i + 1].runs[0].b - block.runs[0].b : nullptr;
    const std::int64_t spacing = block.copies.size() == 1 ? even_spacing(places, rows) : 0;
    if (spacing == 0)
      kernels.gather_rows(places.from,
                          rows,
                          block.copies.data(),
                          static_cast<std::int64_t>(block.copies.size()),
                          gathered,
                          kRowStride);
    kernels.multiply({.a = spacing == 0 ? gathered : places.from[0] + block.copies[0].from,
                      .a_stride = spacing == 0 ? kRowStride : spacing,
                      .b = b,
                      .b_stride = g.panel_floats,
                      .runs = block.runs.data(),
                      .run_count = static_cast<std::int64_t>(block.runs.size()),
                      .c = places.to,
                      .c_offset = first,
                      .rows = rows,
                      .columns = columns,
                      .accumulate = accumulate,
                      .ahead = next,
                      .streamed = spacing == block.depth && blocks.size() == 1,
                      .far_results = true});
    accumulate = true;
  }
  if (g.epilogue != nullptr)
    g.epilogue->apply(places.to, rows, first, t.group * g.to_c + first, columns);
}

void run_gather(const ConvResources& on, const Gather& g) {
  const std::vector<Task> tasks = cut_into_tasks(g);
  TaskBuffers buffers(on.workspace, on.threads, kRows * kRowStride);
  on.threads.run(static_cast<std::int64_t>(tasks.size()), [&](std::int64_t i) {
    const TaskBuffers::Lease buffer(buffers);
    run_task(g, tasks[static_cast<std::size_t>(i)], on.kernels, buffer.data());
  });
}

/// Packs panels of columns k: row (tap, c) holds weight[k][tap][c] for 32 k. This is a
/// transposition, done in blocks that stay in the first-level cache.
void pack_forward(const ConvResources& on, const ConvGeometry& g, const float* w, float* panels) {
  constexpr std::int64_t kBlock = 64;
  const std::int64_t depth = g.r * g.s * g.group_c();
  const std::int64_t per_group = ceil_div(g.group_k(), kPanel);
  on.threads.run(g.options.groups * per_group, [&](std::int64_t task) {
    const std::int64_t first = task % per_group * kPanel;
    const std::int64_t width = std::min(kPanel, g.group_k() - first);
    const float* from = w + (task / per_group * g.group_k() + first) * depth;
    float* panel = panels + task * depth * kPanel;
    if (width < kPanel) std::fill_n(panel, depth * kPanel, 0.0F);
    for (std::int64_t d = 0; d < depth; d += kBlock)
      on.kernels.transpose(
          from + d, depth, width, std::min(kBlock, depth - d), panel + d * kPanel, kPanel);
  });
}

/// Packs panels of columns c: row (tap, k) holds weight[k][tap][c] for 32 c.
void pack_backward(const ConvResources& on, const ConvGeometry& g, const float* w, float* panels) {
  const std::int64_t taps = g.r * g.s;
  const std::int64_t channels = g.group_c();
  const std::int64_t per_group = ceil_div(channels, kPanel);
  on.threads.run(g.options.groups * per_group, [&](std::int64_t task) {
    const std::int64_t first = task % per_group * kPanel;
    const std::int64_t width = std::min(kPanel, channels - first);
    const std::int64_t first_k = task / per_group * g.group_k();
    float* panel = panels + task * taps * g.group_k() * kPanel;
    for (std::int64_t tap = 0; tap < taps; ++tap)
      for (std::int64_t k = 0; k < g.group_k(); ++k) {
        float* to = panel + (tap * g.group_k() + k) * kPanel;
        std::copy_n(w + ((first_k + k) * taps + tap) * channels + first, width, to);
        std::fill(to + width, to + kPanel, 0.0F);
      }
  });
}

}  // namespace

void direct_forward(const ConvResources& on,
                    const ConvGeometry& g,
                    const float* x,
                    const float* weight,
                    const float* bias,
                    float* y,
                    const ConvEpilogue* epilogue) {
  const Conv2dOptions& o = g.options;
  const std::int64_t panel_floats = g.r * g.s * g.group_c() * kPanel;
  const std::int64_t panels = o.groups * ceil_div(g.group_k(), kPanel);
  const PackedWeights packed(on, weight, o.groups, panels * panel_floats, [&](float* to) {
    pack_forward(on, g, weight, to);
  });
  const BorderedInput from(on.workspace, g, x);
  run_gather(on,
             {.n = g.n,
              .groups = o.groups,
              .from_h = from.height(),
              .from_w = from.width(),
              .from_c = g.group_c(),
              .to_h = g.p,
              .to_w = g.q,
              .to_c = g.group_k(),
              .window_w = g.s,
              .rows = forward_classes(g.p, from.height(), g.r, o.stride_h, from.pad_top()),
              .columns = forward_classes(g.q, from.width(), g.s, o.stride_w, from.pad_left()),
              .from = from.data(),
              .to = y,
              .panels = packed.data(),
              .panel_floats = panel_floats,
              .bias = bias,
              .accumulate = false,
              .epilogue = epilogue});
}

void direct_backward_data(const ConvResources& on,
                          const ConvGeometry& g,
                          const float* dy,
                          const float* weight,
                          float* dx,
                          GradMode mode) {
  const Conv2dOptions& o = g.options;
  const std::int64_t panel_floats = g.r * g.s * g.group_k() * kPanel;
  const std::int64_t panels = o.groups * ceil_div(g.group_c(), kPanel);
  const FloatWorkspace packed(on.workspace, panels * panel_floats);
  pack_backward(on, g, weight, packed.data());
  run_gather(on,
             {.n = g.n,
              .groups = o.groups,
              .from_h = g.p,
              .from_w = g.q,
              .from_c = g.group_k(),
              .to_h = g.h,
              .to_w = g.w,
              .to_c = g.group_c(),
              .window_w = g.s,
              .rows = backward_classes(g.h, g.p, g.r, o.stride_h, o.pad_top),
              .columns = backward_classes(g.w, g.q, g.s, o.stride_w, o.pad_left),
              .from = dy,
              .to = dx,
              .panels = packed.data(),
              .panel_floats = panel_floats,
              .bias = nullptr,
              .accumulate = mode == GradMode::accumulate});
}

}  // namespace learn::cpu
