#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/reduce/reduce_kernels.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

/// Plain loops in double, rounded once at the end; rankings by sorting whole rows.
namespace learn::reference {

template <class T, class Result>
void sum(Exec, const T* x, double factor, Result* y, std::int64_t n) {
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += as_double(x[i]);
  *y = from_double<Result>(factor * total);
}

template <class T, class Result>
void sum_backward(Exec, const Result* dy, double factor, T* dx, GradMode mode, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double before = mode == GradMode::accumulate ? as_double(dx[i]) : 0;
    dx[i] = from_double<T>(before + factor * as_double(*dy));
  }
}

/// Returns the positions of a row in descending order of value.
template <class T>
[[nodiscard]] std::vector<std::int64_t> ranking(const T* row, std::int64_t columns) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(columns));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [row](std::int64_t a, std::int64_t b) {
    if (std::isnan(as_double(row[a]))) return !std::isnan(as_double(row[b]));
    return as_double(row[a]) > as_double(row[b]);
  });
  return order;
}

template <class T>
void top_k(Exec,
           const T* x,
           T* values,
           std::int64_t* index,
           std::int64_t rows,
           std::int64_t columns,
           std::int64_t k) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::vector<std::int64_t> order = ranking(x + r * columns, columns);
    for (std::int64_t i = 0; i < k; ++i) {
      index[r * k + i] = order[static_cast<std::size_t>(i)];
      values[r * k + i] = x[r * columns + index[r * k + i]];
    }
  }
}

template <class T>
void argmax(Exec, const T* x, std::int64_t* index, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r) index[r] = ranking(x + r * columns, columns).front();
}

template <class T>
void count_hits(Exec,
                const T* x,
                const kernels::HitTarget<WideType<T>>& target,
                std::int64_t k,
                bool misses,
                std::int64_t* count) {
  const std::int64_t columns = target.columns;
  std::int64_t hits = 0;
  for (std::int64_t r = 0; r < target.rows; ++r) {
    const std::int64_t wanted = target.classes != nullptr
                                    ? target.classes[r]
                                    : ranking(target.weights + r * columns, columns).front();
    if (std::isnan(as_double(x[r * columns + wanted]))) continue;
    const std::vector<std::int64_t> order = ranking(x + r * columns, columns);
    const auto end = order.begin() + std::min(k, columns);
    if (std::find(order.begin(), end, wanted) != end) ++hits;
  }
  *count += misses ? target.rows - hits : hits;
}

}  // namespace learn::reference
