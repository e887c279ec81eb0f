#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/conv/cpu/conv_direct.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace learn::cpu {
namespace {

using simd::kPanel;

constexpr std::int64_t kPixels = 256;  // a panel of this many gathered pixels fills half of 64 kB
constexpr std::int64_t kWantedTasks = 16;
constexpr std::int64_t kMinChunkPixels = 512;
constexpr std::int64_t kMinRows = 128;

/// The gradient dw (k, taps * c) = sum over output pixels of dy (pixel, k) * gathered x (pixel,
/// taps * c). The gathered columns are divided into panels.
struct WeightGradient {
  const ConvGeometry& g;
  const float* x;
  const float* dy;
  std::int64_t columns;  // taps * channels of a group

  [[nodiscard]] std::int64_t panels() const { return ceil_div(columns, kPanel); }
  [[nodiscard]] std::int64_t pixels() const { return g.n * g.p * g.q; }
};

/// The columns of one panel that belong to one tap.
struct Part {
  std::int64_t r, s, channel, to, length;
};

/// One panel and its parts. If none of a pixel's taps is in the padding, longer copies are used,
/// because neighbouring taps in a row of the window are neighbours in memory.
struct Panel {
  std::vector<Part> parts;
  std::vector<simd::Copy> joined;
  bool one_tap = false;  // consists of whole columns of one tap
};

std::vector<Panel> make_panels(const WeightGradient& wg) {
  const ConvGeometry& g = wg.g;
  const std::int64_t c = g.group_c();
  std::vector<Panel> panels;
  for (std::int64_t begin = 0; begin < wg.columns; begin += kPanel) {
    Panel& panel = panels.emplace_back();
    const std::int64_t end = std::min(wg.columns, begin + kPanel);
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t tap = at / c;
      const std::int64_t length = std::min(end, (tap + 1) * c) - at;
      const Part part{tap / g.s, tap % g.s, at % c, at - begin, length};
      panel.parts.push_back(part);
      const std::int64_t from = (part.r * g.w + part.s) * g.c + part.channel;
      if (!panel.joined.empty() && panel.joined.back().from + panel.joined.back().length == from)
        panel.joined.back().length += length;
      else
        panel.joined.push_back({from, part.to, length});
      at += length;
    }
    panel.one_tap = panel.parts.size() == 1 && panel.parts[0].length == kPanel;
  }
  return panels;
}

/// Gathered rows of one panel and the pixels of dy that belong to them.
struct Gathered {
  float* rows;
  std::int64_t dy_row;       // floats between the rows of dy
  std::int64_t first_pixel;  // of these rows
  std::vector<simd::Run> runs;
  std::int64_t count = 0;
  std::int64_t next_pixel = 0;  // after the last run

  void add(std::int64_t pixel, std::int64_t pixels) {
    if (!runs.empty() && next_pixel == pixel)
      runs.back().depth += pixels;
    else
      runs.push_back({(pixel - first_pixel) * dy_row, count * kPanel, pixels});
    count += pixels;
    next_pixel = pixel + pixels;
  }
};

/// The output pixels [q_begin, q_end) of a row of the result.
struct PixelRow {
  std::int64_t n, p, q_begin, q_end;
};

/// Gathers a panel of one tap, skipping pixels whose source is in the padding.
void gather_one_tap(const WeightGradient& wg,
                    const Part& part,
                    std::int64_t first_channel,
                    const PixelRow& row,
                    Gathered& out) {
  const ConvGeometry& g = wg.g;
  const Conv2dOptions& o = g.options;
  const std::int64_t h = row.p * o.stride_h - o.pad_top + part.r;
  if (h < 0 || h >= g.h) return;
  const std::int64_t shift = part.s - o.pad_left;  // the source column is q * stride + shift
  const std::int64_t begin = std::max(row.q_begin, shift >= 0 ? 0 : ceil_div(-shift, o.stride_w));
  const std::int64_t end =
      std::min(row.q_end, shift >= g.w ? 0 : (g.w - 1 - shift) / o.stride_w + 1);
  if (begin >= end) return;
  const float* from = wg.x + ((row.n * g.h + h) * g.w + begin * o.stride_w + shift) * g.c +
                      first_channel + part.channel;
  float* to = out.rows + out.count * kPanel;
  for (std::int64_t q = begin; q < end; ++q, from += o.stride_w * g.c, to += kPanel)
    std::memcpy(to, from, kPanel * sizeof(float));
  out.add((row.n * g.p + row.p) * g.q + begin, end - begin);
}

/// Gathers any panel, with zeros for the padding.
void gather_mixed(const WeightGradient& wg,
                  const Panel& panel,
                  std::int64_t first_channel,
                  const PixelRow& row,
                  const simd::Kernels& kernels,
                  Gathered& out) {
  const ConvGeometry& g = wg.g;
  const Conv2dOptions& o = g.options;
  const std::int64_t h0 = row.p * o.stride_h - o.pad_top;
  const bool rows_inside = h0 >= 0 && h0 + g.r <= g.h;
  float* to = out.rows + out.count * kPanel;
  for (std::int64_t q = row.q_begin; q < row.q_end; ++q, to += kPanel) {
    const std::int64_t w0 = q * o.stride_w - o.pad_left;
    const std::int64_t origin = ((row.n * g.h + h0) * g.w + w0) * g.c + first_channel;
    if (rows_inside && w0 >= 0 && w0 + g.s <= g.w) {
      const float* from = wg.x + origin;
      kernels.gather_rows(&from,
                          1,
                          panel.joined.data(),
                          static_cast<std::int64_t>(panel.joined.size()),
                          to,
                          kPanel);
      continue;
    }
    std::fill_n(to, kPanel, 0.0F);
    for (const Part& part : panel.parts) {
      const std::int64_t h = h0 + part.r;
      const std::int64_t w = w0 + part.s;
      if (h < 0 || h >= g.h || w < 0 || w >= g.w) continue;
      const std::int64_t from = origin + (part.r * g.w + part.s) * g.c + part.channel;
      std::copy_n(wg.x + from, part.length, to + part.to);
    }
  }
  out.add((row.n * g.p + row.p) * g.q + row.q_begin, row.q_end - row.q_begin);
}

/// Gathers a range of output pixels row by row.
void gather(const WeightGradient& wg,
            const Panel& panel,
            std::int64_t group,
            std::int64_t begin,
            std::int64_t end,
            const simd::Kernels& kernels,
            Gathered& out) {
  const ConvGeometry& g = wg.g;
  out.runs.clear();
  out.count = 0;
  for (std::int64_t pixel = begin; pixel < end;) {
    const std::int64_t q = pixel % g.q;
    const std::int64_t length = std::min(g.q - q, end - pixel);
    const PixelRow row{pixel / (g.p * g.q), pixel / g.q % g.p, q, q + length};
    if (panel.one_tap)
      gather_one_tap(wg, panel.parts[0], group * g.group_c(), row, out);
    else
      gather_mixed(wg, panel, group * g.group_c(), row, kernels, out);
    pixel += length;
  }
}

/// A task: panels [first, last) and rows of one group over a range of pixels, summed into `dw`.
struct Task {
  std::int64_t group, first, last, begin, end;
  std::int64_t first_row, last_row;
  bool copies_dy;
  float* dw;
  bool accumulate;
};

/// Copied rows of dy are slightly further apart than their length, see conv_direct.cpp.
constexpr std::int64_t copied_row(std::int64_t rows) { return rows + 16; }

/// Loops over pixels outside and panels inside, so that the block of dy stays in the second-level
/// cache.
void run_task(const WeightGradient& wg,
              const std::vector<Panel>& panels,
              const Task& t,
              const simd::Kernels& kernels,
              float* buffer) {
  const ConvGeometry& g = wg.g;
  const std::int64_t first_k = t.group * g.group_k() + t.first_row;
  const std::int64_t count = t.last_row - t.first_row;
  const std::vector<float*> rows = row_pointers(t.dw + first_k * wg.columns, count, wg.columns);
  float* const copied = buffer + kPixels * kPanel;
  Gathered gathered{buffer, t.copies_dy ? copied_row(count) : g.k, 0, {}, 0, 0};
  bool accumulate = t.accumulate;
  for (std::int64_t begin = t.begin; begin < t.end || !accumulate; begin += kPixels) {
    const std::int64_t end = std::min(t.end, begin + kPixels);
    const float* dy = wg.dy + begin * g.k + first_k;
    if (t.copies_dy) {
      for (std::int64_t i = 0; i < end - begin; ++i)
        std::copy_n(dy + i * g.k, count, copied + i * copied_row(count));
      dy = copied;
    }
    gathered.first_pixel = begin;
    for (std::int64_t panel = t.first; panel < t.last; ++panel) {
      const Panel& columns = panels[static_cast<std::size_t>(panel)];
      gather(wg, columns, t.group, begin, end, kernels, gathered);
      kernels.multiply_transposed({.a = dy,
                                   .a_stride = gathered.dy_row,
                                   .b = gathered.rows,
                                   .b_stride = 0,
                                   .runs = gathered.runs.data(),
                                   .run_count = static_cast<std::int64_t>(gathered.runs.size()),
                                   .c = rows.data(),
                                   .c_offset = panel * kPanel,
                                   .rows = count,
                                   .columns = std::min(kPanel, wg.columns - panel * kPanel),
                                   .accumulate = accumulate});
    }
    accumulate = true;
  }
}

/// The division of the work. Every group of panels reads all of dy, every group of rows (output
/// channels) gathers all of x, and every chunk of pixels writes a separate result. Among the
/// divisions with enough tasks, the one with the least memory traffic is chosen.
struct Cut {
  std::int64_t row_groups, panel_groups, chunks;
};

Cut choose_cut(const WeightGradient& wg) {
  const ConvGeometry& g = wg.g;
  Cut best{1, 1, 1};
  std::int64_t least = 0;
  for (std::int64_t chunks = 1; chunks <= kWantedTasks; chunks *= 2) {
    if (chunks > 1 && wg.pixels() / chunks < kMinChunkPixels) break;
    for (std::int64_t rows = 1; rows <= kWantedTasks; rows *= 2) {
      if (rows > 1 && g.group_k() / rows < kMinRows) break;
      const std::int64_t panels = std::clamp<std::int64_t>(
          kWantedTasks / (rows * chunks * g.options.groups), 1, wg.panels());
      const std::int64_t tasks = rows * panels * chunks * g.options.groups;
      // Too few tasks leave cores idle, which is counted as additional traffic.
      const std::int64_t idle = std::max<std::int64_t>(1, kWantedTasks / tasks);
      const std::int64_t partials = chunks > 1 ? 3 * chunks * g.weight_elements() : 0;
      const std::int64_t gathered = wg.pixels() * wg.columns * g.options.groups;
      const std::int64_t traffic = idle * (panels * g.y_elements() + rows * gathered + partials);
      if (least > 0 && traffic >= least) continue;
      least = traffic;
      best = {rows, panels, chunks};
    }
  }
  return best;
}

/// Returns whether tasks copy `rows` of dy for several panels. Rows that are far apart map to few
/// lines of the first-level cache, and each to a memory page.
bool copying_pays(const ConvGeometry& g, std::int64_t rows, std::int64_t panels) {
  constexpr std::int64_t kFarApart = 128;
  constexpr std::int64_t kMaxRows = 2048;  // 2 MB of a block of pixels
  return g.k >= kFarApart && rows <= kMaxRows && panels > 1;
}

/// Returns a product of all pixels, without rows and images, if the convolution is one.
ConvGeometry flattened(ConvGeometry g) {
  const Conv2dOptions& o = g.options;
  const bool padded = o.pad_top != 0 || o.pad_bottom != 0 || o.pad_left != 0 || o.pad_right != 0;
  if (g.r != 1 || g.s != 1 || o.stride_h != 1 || o.stride_w != 1 || padded) return g;
  g.w = g.q = g.n * g.h * g.w;
  g.n = g.h = g.p = 1;
  return g;
}

/// Computes dw (+)= the sum of the partial results, in their order.
void add_partials(const ConvResources& on,
                  const float* partials,
                  std::int64_t count,
                  std::int64_t n,
                  float* dw,
                  GradMode mode) {
  on.threads.parallel_for(n, 4096, [&](std::int64_t begin, std::int64_t end) {
    if (mode == GradMode::overwrite) std::fill(dw + begin, dw + end, 0.0F);
    for (std::int64_t c = 0; c < count; ++c)
      for (std::int64_t i = begin; i < end; ++i) dw[i] += partials[c * n + i];
  });
}

}  // namespace

void direct_backward_weight(const ConvResources& on,
                            const ConvGeometry& geometry,
                            const float* x,
                            const float* dy,
                            float* dw,
                            GradMode mode) {
  const ConvGeometry g = flattened(geometry);
  const WeightGradient wg{g, x, dy, g.r * g.s * g.group_c()};
  const std::vector<Panel> panels = make_panels(wg);
  const Cut cut = choose_cut(wg);
  const std::int64_t chunks = cut.chunks;
  const std::int64_t tasks = g.options.groups * cut.row_groups * cut.panel_groups * chunks;
  const std::int64_t rows = ceil_div(g.group_k(), cut.row_groups);
  const bool copies_dy = copying_pays(g, rows, wg.panels() / cut.panel_groups);
  const FloatWorkspace partials(on.workspace, chunks > 1 ? chunks * g.weight_elements() : 0);
  TaskBuffers buffers(
      on.workspace, on.threads, kPixels * (kPanel + (copies_dy ? copied_row(rows) : 0)));
  on.threads.run(tasks, [&](std::int64_t i) {
    const std::int64_t chunk = i % chunks;
    const std::int64_t panel_group = i / chunks % cut.panel_groups;
    const std::int64_t row_group = i / chunks / cut.panel_groups % cut.row_groups;
    const Task task{
        .group = i / chunks / cut.panel_groups / cut.row_groups,
        .first = wg.panels() * panel_group / cut.panel_groups,
        .last = wg.panels() * (panel_group + 1) / cut.panel_groups,
        .begin = wg.pixels() * chunk / chunks,
        .end = wg.pixels() * (chunk + 1) / chunks,
        .first_row = g.group_k() * row_group / cut.row_groups,
        .last_row = g.group_k() * (row_group + 1) / cut.row_groups,
        .copies_dy = copies_dy,
        .dw = chunks > 1 ? partials.data() + chunk * g.weight_elements() : dw,
        .accumulate = chunks == 1 && mode == GradMode::accumulate,
    };
    const TaskBuffers::Lease buffer(buffers);
    run_task(wg, panels, task, on.kernels, buffer.data());
  });
  if (chunks > 1) add_partials(on, partials.data(), chunks, g.weight_elements(), dw, mode);
}

}  // namespace learn::cpu
