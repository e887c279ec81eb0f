#include "framework/kernels/conv/cpu/conv_few.h"

#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/task_buffers.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace learn::cpu {
namespace {

using simd::kPanel;

constexpr std::int64_t kTaskFloats = 16LL * 1024;  // of the weights

std::int64_t results_of(const ConvGeometry& g) { return g.n * g.p * g.q; }
std::int64_t depth_of(const ConvGeometry& g) { return g.r * g.s * g.c; }

/// Returns whether each pixel of x is a window.
bool is_product(const ConvGeometry& g) {
  return g.r == 1 && g.s == 1 && g.p == g.h && g.q == g.w && g.options.stride_h == 1 &&
         g.options.stride_w == 1;
}

/// Calls `visit(offset in x, offset in the windows)`, for channel 0, for each tap of each result,
/// with a negative offset in x for taps in the padding.
template <class Visit>
void visit_taps(const ConvGeometry& g, Visit&& visit) {
  const Conv2dOptions& o = g.options;
  std::int64_t to = 0;
  for (std::int64_t n = 0; n < g.n; ++n)
    for (std::int64_t p = 0; p < g.p; ++p)
      for (std::int64_t q = 0; q < g.q; ++q)
        for (std::int64_t r = 0; r < g.r; ++r)
          for (std::int64_t s = 0; s < g.s; ++s, to += g.c) {
            const std::int64_t h = p * o.stride_h - o.pad_top + r;
            const std::int64_t w = q * o.stride_w - o.pad_left + s;
            const bool inside = h >= 0 && h < g.h && w >= 0 && w < g.w;
            visit(inside ? ((n * g.h + h) * g.w + w) * g.c : -1, to);
          }
}

/// The windows of x: a row of taps and channels for each result.
class Windows {
 public:
  Windows(const ConvResources& on, const ConvGeometry& g, const float* x) : data_(x) {
    if (is_product(g)) return;
    copy_.emplace(on.workspace, results_of(g) * depth_of(g));
    float* const to = copy_->data();
    visit_taps(g, [&](std::int64_t from, std::int64_t at) {
      if (from < 0)
        std::fill_n(to + at, g.c, 0.0F);
      else
        std::copy_n(x + from, g.c, to + at);
    });
    data_ = to;
  }
  [[nodiscard]] const float* data() const { return data_; }

 private:
  std::optional<FloatWorkspace> copy_;
  const float* data_;
};

/// Computes the gradient of the windows, or adds to it.
void multiply_gradient(const ConvResources& on,
                       const ConvGeometry& g,
                       const float* dy,
                       const float* weight,
                       float* windows,
                       bool accumulate) {
  const std::int64_t depth = depth_of(g);
  const std::vector<float*> rows = row_pointers(windows, results_of(g), depth);
  const simd::Run run{0, 0, g.k};
  const std::int64_t panels_per_task = std::max<std::int64_t>(2, kTaskFloats / (kPanel * g.k));
  on.threads.parallel_for(
      ceil_div(depth, kPanel), panels_per_task, [&](std::int64_t begin, std::int64_t end) {
        on.kernels.multiply({.a = dy,
                             .a_stride = g.k,
                             .b = weight + begin * kPanel,
                             .b_row = depth,
                             .b_stride = kPanel,
                             .runs = &run,
                             .run_count = 1,
                             .c = rows.data(),
                             .c_offset = begin * kPanel,
                             .rows = results_of(g),
                             .columns = std::min(depth, end * kPanel) - begin * kPanel,
                             .accumulate = accumulate});
      });
}

}  // namespace

void few_forward(const ConvResources& on,
                 const ConvGeometry& g,
                 const float* x,
                 const float* weight,
                 const float* bias,
                 float* y,
                 const ConvEpilogue* epilogue) {
  const std::int64_t depth = depth_of(g);
  const Windows windows(on, g, x);
  const std::vector<float*> rows = row_pointers(y, results_of(g), g.k);
  const std::int64_t per_task = std::max<std::int64_t>(12, kTaskFloats / depth);
  on.threads.parallel_for(g.k, per_task, [&](std::int64_t k, std::int64_t end) {
    on.kernels.dot_rows({.a = windows.data(),
                         .a_stride = depth,
                         .rows = results_of(g),
                         .b = weight + k * depth,
                         .b_stride = depth,
                         .columns = end - k,
                         .depth = depth,
                         .bias = bias == nullptr ? nullptr : bias + k,
                         .c = rows.data(),
                         .c_offset = k});
    if (epilogue != nullptr) epilogue->apply(rows.data(), results_of(g), k, k, end - k);
  });
}

void few_backward_data(const ConvResources& on,
                       const ConvGeometry& g,
                       const float* dy,
                       const float* weight,
                       float* dx,
                       GradMode mode) {
  if (is_product(g)) return multiply_gradient(on, g, dy, weight, dx, mode == GradMode::accumulate);
  const FloatWorkspace windows(on.workspace, results_of(g) * depth_of(g));
  multiply_gradient(on, g, dy, weight, windows.data(), false);
  if (mode == GradMode::overwrite) std::fill_n(dx, g.x_elements(), 0.0F);
  on.threads.parallel_for(g.c, 64, [&](std::int64_t begin, std::int64_t end) {
    visit_taps(g, [&](std::int64_t to, std::int64_t at) {
      if (to < 0) return;
      const float* const from = windows.data() + at;
      for (std::int64_t c = begin; c < end; ++c) dx[to + c] += from[c];
    });
  });
}

void few_backward_weight(const ConvResources& on,
                         const ConvGeometry& g,
                         const float* x,
                         const float* dy,
                         float* dw,
                         GradMode mode) {
  // Several rows at once, each written from its first column to its last.
  constexpr std::int64_t kRows = 16;
  const std::int64_t depth = depth_of(g);
  const Windows windows(on, g, x);
  const simd::Run run{0, 0, results_of(g)};
  const std::int64_t per_task = std::max<std::int64_t>(1, kTaskFloats / (kRows * depth));
  on.threads.parallel_for(
      ceil_div(g.k, kRows), per_task, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin * kRows; k < std::min(g.k, end * kRows); k += kRows) {
          const std::int64_t count = std::min(kRows, g.k - k);
          const std::vector<float*> rows = row_pointers(dw + k * depth, count, depth);
          on.kernels.multiply_transposed({.a = dy + k,
                                          .a_stride = g.k,
                                          .b = windows.data(),
                                          .b_row = depth,
                                          .b_stride = kPanel,
                                          .runs = &run,
                                          .run_count = 1,
                                          .c = rows.data(),
                                          .c_offset = 0,
                                          .rows = count,
                                          .columns = depth,
                                          .accumulate = mode == GradMode::accumulate});
        }
      });
}

}  // namespace learn::cpu
