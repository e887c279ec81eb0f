#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/pool/pool_geometry_cpu.h"
#include "framework/kernels/pool/pool_kernels.h"
#include "framework/tensor/convert.h"

#include <algorithm>

namespace learn::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;  // elements: about 10 microseconds of memory traffic
constexpr std::int64_t kLanes = 64;     // channels processed at once

template <class T>
void output_row(const PoolGeometry& g, std::int64_t np, const T* x, T* y) {
  const std::int64_t p = np % g.p;
  const IndexRange rows = g.rows_of(p);
  const std::int64_t top = np / g.p * g.h + p * g.options.stride_h - g.options.pad_h;
  for (std::int64_t q = 0; q < g.q; ++q) {
    const IndexRange columns = g.columns_of(q);
    const std::int64_t left = q * g.options.stride_w - g.options.pad_w;
    const float share = 1.0F / static_cast<float>(g.divisor(p, q));
    for (std::int64_t c = 0; c < g.c; c += kLanes) {
      const std::int64_t lanes = std::min(kLanes, g.c - c);
      float sum[kLanes] = {};
      for (std::int64_t r = rows.begin; r < rows.end; ++r)
        for (std::int64_t s = columns.begin; s < columns.end; ++s) {
          const T* value = x + ((top + r) * g.w + left + s) * g.c + c;
          for (std::int64_t j = 0; j < lanes; ++j) sum[j] += as_float(value[j]);
        }
      T* out = y + (np * g.q + q) * g.c + c;
      for (std::int64_t j = 0; j < lanes; ++j) out[j] = from_float<T>(sum[j] * share);
    }
  }
}

/// Computes dx of one pixel in a single window, which is the usual case of windows without overlap.
template <class T>
void collect_one(const T* dy, float share, std::int64_t channels, T* dx, GradMode mode) {
  if (mode == GradMode::overwrite) {
    LEARN_VECTORIZE
    for (std::int64_t j = 0; j < channels; ++j) dx[j] = from_float<T>(as_float(dy[j]) * share);
  } else {
    LEARN_VECTORIZE
    for (std::int64_t j = 0; j < channels; ++j)
      dx[j] = from_float<T>(as_float(dx[j]) + as_float(dy[j]) * share);
  }
}

/// Computes dx of one pixel in any number of windows. `dy` points to its sample.
template <class T>
void collect(
    const PoolGeometry& g, IndexRange rows, IndexRange columns, const T* dy, T* dx, GradMode mode) {
  for (std::int64_t c = 0; c < g.c; c += kLanes) {
    const std::int64_t lanes = std::min(kLanes, g.c - c);
    float sum[kLanes];
    for (std::int64_t j = 0; j < lanes; ++j)
      sum[j] = mode == GradMode::accumulate ? as_float(dx[c + j]) : 0.0F;
    for (std::int64_t p = rows.begin; p < rows.end; ++p)
      for (std::int64_t q = columns.begin; q < columns.end; ++q) {
        const float share = 1.0F / static_cast<float>(g.divisor(p, q));
        const T* from = dy + (p * g.q + q) * g.c + c;
        for (std::int64_t j = 0; j < lanes; ++j) sum[j] += as_float(from[j]) * share;
      }
    for (std::int64_t j = 0; j < lanes; ++j) dx[c + j] = from_float<T>(sum[j]);
  }
}

/// Computes the gradient of row `nh` of x. Each element collects its share from the windows over
/// it.
template <class T>
void input_row(const PoolGeometry& g, std::int64_t nh, const T* dy, T* dx, GradMode mode) {
  const IndexRange rows = g.windows_over_row(nh % g.h);
  const T* sample = dy + nh / g.h * g.p * g.q * g.c;
  for (std::int64_t w = 0; w < g.w; ++w) {
    const IndexRange columns = g.windows_over_column(w);
    T* out = dx + (nh * g.w + w) * g.c;
    if (rows.size() == 1 && columns.size() == 1) {
      const float share = 1.0F / static_cast<float>(g.divisor(rows.begin, columns.begin));
      collect_one(sample + (rows.begin * g.q + columns.begin) * g.c, share, g.c, out, mode);
    } else {
      collect(g, rows, columns, sample, out, mode);
    }
  }
}

}  // namespace

template <class T>
void avg_pool2d_forward(const Exec& exec, const kernels::PoolSizes& sizes, const T* x, T* y) {
  const PoolGeometry geometry{sizes};
  const std::int64_t rows = geometry.n * geometry.p;
  const std::int64_t per_row =
      std::max<std::int64_t>(1, geometry.w * geometry.c * geometry.options.stride_h);
  simd::parallel_for(
      exec.threads, rows, ceil_div(kGrain, per_row), [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t np = begin; np < end; ++np) output_row(geometry, np, x, y);
      });
}

template <class T>
void avg_pool2d_backward(
    const Exec& exec, const kernels::PoolSizes& sizes, const T* dy, T* dx, GradMode mode) {
  const PoolGeometry geometry{sizes};
  const std::int64_t rows = geometry.n * geometry.h;
  const std::int64_t per_row = std::max<std::int64_t>(1, geometry.w * geometry.c);
  simd::parallel_for(
      exec.threads, rows, ceil_div(kGrain, per_row), [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t nh = begin; nh < end; ++nh) input_row(geometry, nh, dy, dx, mode);
      });
}

#define LEARN_INSTANTIATE(T)                                                              \
  template void avg_pool2d_forward(const Exec&, const kernels::PoolSizes&, const T*, T*); \
  template void avg_pool2d_backward(const Exec&, const kernels::PoolSizes&, const T*, T*, GradMode);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cpu
