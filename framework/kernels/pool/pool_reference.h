#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/pool/pool_kernels.h"
#include "framework/tensor/convert.h"

#include <cmath>
#include <cstdint>
#include <vector>

/// Computes every window from its definition, in double; the backward passes scatter.
namespace learn::reference {

using kernels::PoolSizes;

/// Calls `body(y's index, x's index, offset in the window)` for each element of each window, in the
/// order of the window.
template <class Body>
void for_window_elements(const PoolSizes& e, Body&& body) {
  const Pool2dOptions& o = e.options;
  for (std::int64_t out = 0; out < e.n * e.p * e.q * e.c; ++out) {
    const std::int64_t c = out % e.c;
    const std::int64_t q = out / e.c % e.q;
    const std::int64_t p = out / e.c / e.q % e.p;
    const std::int64_t n = out / e.c / e.q / e.p;
    for (std::int64_t r = 0; r < o.window_h; ++r)
      for (std::int64_t s = 0; s < o.window_w; ++s) {
        const std::int64_t row = p * o.stride_h - o.pad_h + r;
        const std::int64_t column = q * o.stride_w - o.pad_w + s;
        if (row < 0 || row >= e.h || column < 0 || column >= e.w) continue;
        body(out, ((n * e.h + row) * e.w + column) * e.c + c, r * o.window_w + s);
      }
  }
}

template <class T, class Winner>
void max_pool2d_forward(Exec, const PoolSizes& e, const T* x, T* y, Winner* winner) {
  std::int64_t last = -1;
  for_window_elements(e, [&](std::int64_t out, std::int64_t in, std::int64_t offset) {
    const bool first = out != last;
    last = out;
    const double value = as_double(x[in]);
    const bool better = !first && (value > as_double(y[out]) ||
                                   (std::isnan(value) && !std::isnan(as_double(y[out]))));
    if (!first && !better) return;
    y[out] = x[in];
    winner[out] = static_cast<Winner>(offset);
  });
}

/// Adds `sums` to `dx` or overwrites it with them.
template <class T>
void deliver(const std::vector<double>& sums, T* dx, GradMode mode) {
  for (std::size_t i = 0; i < sums.size(); ++i)
    dx[i] = from_double<T>((mode == GradMode::accumulate ? as_double(dx[i]) : 0) + sums[i]);
}

template <class T, class Winner>
void max_pool2d_backward(
    Exec, const PoolSizes& e, const Winner* winner, const T* dy, T* dx, GradMode mode) {
  std::vector<double> sums(static_cast<std::size_t>(e.n * e.h * e.w * e.c));
  for_window_elements(e, [&](std::int64_t out, std::int64_t in, std::int64_t offset) {
    if (static_cast<std::int64_t>(winner[out]) == offset)
      sums[static_cast<std::size_t>(in)] += as_double(dy[out]);
  });
  deliver(sums, dx, mode);
}

/// Returns the number of elements that each window averages over.
[[nodiscard]] inline std::vector<double> average_counts(const PoolSizes& e) {
  std::vector<double> counts(static_cast<std::size_t>(e.n * e.p * e.q * e.c));
  for_window_elements(e, [&](std::int64_t out, std::int64_t, std::int64_t) {
    ++counts[static_cast<std::size_t>(out)];
  });
  if (e.options.count_padding)
    counts.assign(counts.size(), static_cast<double>(e.options.window_h * e.options.window_w));
  return counts;
}

template <class T>
void avg_pool2d_forward(Exec, const PoolSizes& e, const T* x, T* y) {
  const std::vector<double> counts = average_counts(e);
  std::vector<double> sums(counts.size());
  for_window_elements(e, [&](std::int64_t out, std::int64_t in, std::int64_t) {
    sums[static_cast<std::size_t>(out)] += as_double(x[in]);
  });
  for (std::size_t i = 0; i < sums.size(); ++i) y[i] = from_double<T>(sums[i] / counts[i]);
}

template <class T>
void avg_pool2d_backward(Exec, const PoolSizes& e, const T* dy, T* dx, GradMode mode) {
  const std::vector<double> counts = average_counts(e);
  std::vector<double> sums(static_cast<std::size_t>(e.n * e.h * e.w * e.c));
  for_window_elements(e, [&](std::int64_t out, std::int64_t in, std::int64_t) {
    sums[static_cast<std::size_t>(in)] +=
        as_double(dy[out]) / counts[static_cast<std::size_t>(out)];
  });
  deliver(sums, dx, mode);
}

}  // namespace learn::reference
