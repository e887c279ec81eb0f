#include "framework/backend/cpu/conv_direct.h"
#include "framework/backend/cpu/task_buffers.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace learn::backend::cpu {
namespace {

using simd::kPanel;

constexpr std::int64_t kPixels = 256;  // a panel of as many gathered pixels fills half of 64 kB
constexpr std::int64_t kWantedTasks = 16;
constexpr std::int64_t kMinChunkPixels = 512;

/// dw (k, taps * c) = sum over output pixels of dy (pixel, k) * gathered x (pixel, taps * c). The
/// gathered columns are cut into panels.
struct WeightGradient {
  const ConvGeometry& g;
  const float* x;
  const float* dy;
  std::int64_t columns;  // taps * channels of a group

  [[nodiscard]] std::int64_t panels() const { return (columns + kPanel - 1) / kPanel; }
  [[nodiscard]] std::int64_t pixels() const { return g.n * g.p * g.q; }
};

/// The columns of one panel that belong to one tap.
struct Part {
  std::int64_t r, s, channel, to, length;
};

std::vector<Part> parts_of_panel(const WeightGradient& wg, std::int64_t panel) {
  std::vector<Part> parts;
  const std::int64_t c = wg.g.group_c();
  const std::int64_t end = std::min(wg.columns, (panel + 1) * kPanel);
  for (std::int64_t at = panel * kPanel; at < end;) {
    const std::int64_t tap = at / c;
    const std::int64_t length = std::min(end, (tap + 1) * c) - at;
    parts.push_back({tap / wg.g.s, tap % wg.g.s, at % c, at - panel * kPanel, length});
    at += length;
  }
  return parts;
}

/// Gathered rows of one panel and the stretches of dy that belong to them.
struct Gathered {
  float* rows;
  std::vector<simd::Run> runs;
  std::int64_t count = 0;
};

/// Gathers the output pixels [begin, end). Where a panel sees one tap only, pixels whose source is
/// in the padding are left out; otherwise their part is zero.
void gather(const WeightGradient& wg,
            const std::vector<Part>& parts,
            std::int64_t group,
            std::int64_t begin,
            std::int64_t end,
            Gathered& out) {
  const ConvGeometry& g = wg.g;
  const Conv2dOptions& o = g.options;
  out.runs.clear();
  out.count = 0;
  const bool full = parts.size() == 1 && parts[0].length == kPanel;
  for (std::int64_t pixel = begin; pixel < end; ++pixel) {
    const std::int64_t n = pixel / (g.p * g.q);
    const std::int64_t h0 = pixel / g.q % g.p * o.stride_h - o.pad_top;
    const std::int64_t w0 = pixel % g.q * o.stride_w - o.pad_left;
    float* to = out.rows + out.count * kPanel;
    if (!full) std::fill_n(to, kPanel, 0.0F);
    bool inside = false;
    for (const Part& part : parts) {
      const std::int64_t h = h0 + part.r;
      const std::int64_t w = w0 + part.s;
      if (h < 0 || h >= g.h || w < 0 || w >= g.w) continue;
      inside = true;
      const float* from = wg.x + ((n * g.h + h) * g.w + w) * g.c + group * g.group_c();
      std::copy_n(from + part.channel, part.length, to + part.to);
    }
    if (!inside) continue;
    if (!out.runs.empty() && out.runs.back().a + out.runs.back().depth * g.k == pixel * g.k)
      ++out.runs.back().depth;
    else
      out.runs.push_back({pixel * g.k, out.count * kPanel, 1});
    ++out.count;
  }
}

/// Panels [first, last) of one group over the pixels [begin, end) into the rows of `dw`.
struct Task {
  std::int64_t group, first, last, begin, end;
  float* dw;
  bool accumulate;
};

void run_task(const WeightGradient& wg,
              const Task& t,
              const simd::Kernels& kernels,
              float* buffer) {
  const ConvGeometry& g = wg.g;
  std::vector<float*> rows(static_cast<std::size_t>(g.group_k()));
  for (std::size_t k = 0; k < rows.size(); ++k)
    rows[k] = t.dw + (t.group * g.group_k() + static_cast<std::int64_t>(k)) * wg.columns;
  Gathered gathered{buffer, {}, 0};
  for (std::int64_t panel = t.first; panel < t.last; ++panel) {
    const std::vector<Part> parts = parts_of_panel(wg, panel);
    bool accumulate = t.accumulate;
    for (std::int64_t begin = t.begin; begin < t.end || !accumulate; begin += kPixels) {
      gather(wg, parts, t.group, begin, std::min(t.end, begin + kPixels), gathered);
      kernels.multiply_transposed({.a = wg.dy + t.group * g.group_k(),
                                   .a_stride = g.k,
                                   .b = gathered.rows,
                                   .b_stride = 0,
                                   .runs = gathered.runs.data(),
                                   .run_count = static_cast<std::int64_t>(gathered.runs.size()),
                                   .c = rows.data(),
                                   .c_offset = panel * kPanel,
                                   .rows = g.group_k(),
                                   .columns = std::min(kPanel, wg.columns - panel * kPanel),
                                   .accumulate = accumulate});
      accumulate = true;
    }
  }
}

/// dw (+)= the sum of the partial results, in their order.
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
                            const ConvGeometry& g,
                            const float* x,
                            const float* dy,
                            float* dw,
                            GradMode mode) {
  const WeightGradient wg{g, x, dy, g.r * g.s * g.group_c()};
  const std::int64_t per_group = std::min(wg.panels(), kWantedTasks);
  const std::int64_t chunks =
      std::clamp<std::int64_t>(kWantedTasks / (per_group * g.options.groups),
                               1,
                               std::max<std::int64_t>(1, wg.pixels() / kMinChunkPixels));
  const FloatWorkspace partials(on.workspace, chunks > 1 ? chunks * g.weight_elements() : 0);
  TaskBuffers buffers(on.workspace, on.threads, kPixels * kPanel);
  on.threads.run(g.options.groups * per_group * chunks, [&](std::int64_t i) {
    const std::int64_t chunk = i % chunks;
    const std::int64_t part = i / chunks % per_group;
    const Task task{
        .group = i / chunks / per_group,
        .first = wg.panels() * part / per_group,
        .last = wg.panels() * (part + 1) / per_group,
        .begin = wg.pixels() * chunk / chunks,
        .end = wg.pixels() * (chunk + 1) / chunks,
        .dw = chunks > 1 ? partials.data() + chunk * g.weight_elements() : dw,
        .accumulate = chunks == 1 && mode == GradMode::accumulate,
    };
    const TaskBuffers::Lease buffer(buffers);
    run_task(wg, task, on.kernels, buffer.data());
  });
  if (chunks > 1) add_partials(on, partials.data(), chunks, g.weight_elements(), dw, mode);
}

}  // namespace learn::backend::cpu
