#include "framework/kernels/conv/cpu/conv_scatter.h"

#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/common/cpu/vectorize.h"

#include <algorithm>

namespace learn::cpu {
namespace {

using simd::kPanel;

constexpr std::int64_t kResults = 128;  // at once, whose windows stay in the second-level cache
constexpr std::int64_t kWantedTasks = 32;

/// Packs the weights (K, R*S*C) as panels of columns.
void pack(const ConvGeometry& g, const float* weight, std::int64_t depth, float* panels) {
  for (std::int64_t first = 0; first < depth; first += kPanel) {
    const std::int64_t width = std::min(kPanel, depth - first);
    for (std::int64_t k = 0; k < g.k; ++k, panels += kPanel) {
      std::copy_n(weight + k * depth + first, width, panels);
      std::fill(panels + width, panels + kPanel, 0.0F);
    }
  }
}

/// The range of positions along an axis whose windows reach [begin, end) of the input.
struct Reach {
  std::int64_t begin, end;
  Reach(std::int64_t from,
        std::int64_t to,
        std::int64_t window,
        std::int64_t stride,
        std::int64_t pad,
        std::int64_t positions)
      : begin(std::max<std::int64_t>(
            0, ceil_div(std::max<std::int64_t>(0, from + pad - window + 1), stride))),
        end(std::min(positions, (to - 1 + pad) / stride + 1)) {}
};

/// Rows of the gradient of one image, which one task computes.
struct Band {
  std::int64_t begin, end;
  float* dx;  ///< of the image
};

/// Adds the windows of result rows [p, last) to the rows of a band. Windows of neighbouring results
/// overlap. So results that are far enough apart follow each other: a sum that has just been
/// written would have to be waited for.
void add_windows(const ConvGeometry& g,
                 const Band& band,
                 const float* windows,
                 std::int64_t stride,
                 std::int64_t p,
                 std::int64_t last) {
  const Conv2dOptions& o = g.options;
  const std::int64_t apart = ceil_div(g.s, o.stride_w);
  for (; p < last; ++p, windows += g.q * stride)
    for (std::int64_t r = 0; r < g.r; ++r) {
      const std::int64_t h = p * o.stride_h - o.pad_top + r;
      if (h < band.begin || h >= band.end) continue;
      simd::run([=,
                 to = band.dx + h * g.w * g.c,
                 from = windows + r * g.s * g.c,
                 results = g.q,
                 c = g.c,
                 width = g.w,
                 taps = g.s,
                 step = o.stride_w,
                 pad = o.pad_left] {
        for (std::int64_t first = 0; first < apart; ++first)
          for (std::int64_t q = first; q < results; q += apart) {
            const std::int64_t w = q * step - pad;
            const std::int64_t begin = std::max<std::int64_t>(0, -w);
            const std::int64_t n = (std::min(taps, width - w) - begin) * c;
            float* sum = to + (w + begin) * c;
            const float* term = from + q * stride + begin * c;
            LEARN_VECTORIZE
            for (std::int64_t i = 0; i < n; ++i) sum[i] += term[i];
          }
      });
    }
}

}  // namespace

void scatter_backward_data(const ConvResources& on,
                           const ConvGeometry& g,
                           const float* dy,
                           const float* weight,
                           float* dx,
                           GradMode mode) {
  if (g.n == 0) return;
  const std::int64_t depth = g.r * g.s * g.c;
  const std::int64_t panel_floats = g.k * kPanel;
  const FloatWorkspace panels(on.workspace, ceil_div(depth, kPanel) * panel_floats);
  pack(g, weight, depth, panels.data());
  const std::int64_t stride = round_up(depth, 16);
  const std::int64_t rows = std::max<std::int64_t>(1, kResults / g.q);
  TaskBuffers buffers(on.workspace, on.threads, rows * g.q * stride);
  // Bands are so high that few windows reach into two.
  const std::int64_t bands = std::clamp<std::int64_t>(
      ceil_div(kWantedTasks, g.n), 1, std::max<std::int64_t>(1, g.h / (4 * g.r)));
  on.threads.run(g.n * bands, [&](std::int64_t task) {
    const std::int64_t n = task / bands;
    const std::int64_t part = task % bands;
    const Band band{g.h * part / bands, g.h * (part + 1) / bands, dx + n * g.h * g.w * g.c};
    if (mode == GradMode::overwrite)
      std::fill(band.dx + band.begin * g.w * g.c, band.dx + band.end * g.w * g.c, 0.0F);
    const Reach reach(band.begin, band.end, g.r, g.options.stride_h, g.options.pad_top, g.p);
    const TaskBuffers::Lease windows(buffers);
    const std::vector<float*> places = row_pointers(windows.data(), rows * g.q, stride);
    const simd::Run run{0, 0, g.k};
    for (std::int64_t p = reach.begin; p < reach.end; p += rows) {
      const std::int64_t last = std::min(reach.end, p + rows);
      on.kernels.multiply({.a = dy + (n * g.p + p) * g.q * g.k,
                           .a_stride = g.k,
                           .b = panels.data(),
                           .b_stride = panel_floats,
                           .runs = &run,
                           .run_count = 1,
                           .c = places.data(),
                           .c_offset = 0,
                           .rows = (last - p) * g.q,
                           .columns = depth,
                           .accumulate = false});
      add_windows(g, band, windows.data(), stride, p, last);
    }
  });
}

}  // namespace learn::cpu
