#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/reduce/reduce_kernels.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace learn::cpu {

using kernels::HitTarget;

namespace {

constexpr std::int64_t kGrain = 16384;  // about 10 microseconds of memory traffic
constexpr std::int64_t kLanes = 64;     // four vectors of the widest kind: additions overlap

template <class T>
double sum_block(const T* x, std::int64_t n) {
  float lanes[kLanes] = {};
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes)
    for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] += as_float(x[i + j]);
  double total = 0;
  for (const float lane : lanes) total += static_cast<double>(lane);
  for (std::int64_t i = whole; i < n; ++i) total += static_cast<double>(as_float(x[i]));
  return total;
}

/// Returns whether `a` ranks before `b` if its position in the row is after `b`.
bool larger(float a, float b) { return a > b || (a != a && b == b); }

std::int64_t row_grain(std::int64_t columns) {
  return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, columns));
}

template <class T>
std::int64_t largest_of(const T* row, std::int64_t columns) {
  std::int64_t best = 0;
  for (std::int64_t c = 1; c < columns; ++c)
    if (larger(as_float(row[c]), as_float(row[best]))) best = c;
  return best;
}

template <class T>
bool in_top_k(const T* row, std::int64_t columns, std::int64_t target, std::int64_t k) {
  const float own = as_float(row[target]);
  std::int64_t before = 0;
  for (std::int64_t c = 0; c < columns; ++c) {
    const float other = as_float(row[c]);
    before += c < target ? !(other < own) : !(other <= own);  // NaN ranks before
  }
  return own == own && before < k;
}

}  // namespace

template <class T>
void sum(const Exec& exec, const T* x, double factor, float* y, std::int64_t n) {
  double partials[ThreadPool::kMaxChunks] = {};
  double* out = partials;
  exec.threads.for_chunks(n, kGrain, [=](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    simd::run([=] { out[chunk] = sum_block(x + begin, end - begin); });
  });
  *y = static_cast<float>(factor * std::accumulate(std::begin(partials), std::end(partials), 0.0));
}

template <class T>
void sum_backward(
    ThreadPool& threads, const float* dy, double factor, T* dx, GradMode mode, std::int64_t n) {
  const auto each = static_cast<float>(factor * static_cast<double>(*dy));
  simd::parallel_for(threads, n, kGrain, [=](std::int64_t begin, std::int64_t end) {
    if (mode == GradMode::overwrite) {
      const T rounded = from_float<T>(each);
      LEARN_VECTORIZE
      for (std::int64_t i = begin; i < end; ++i) simd::assign(dx[i], rounded);
    } else {
      LEARN_VECTORIZE
      for (std::int64_t i = begin; i < end; ++i) dx[i] = from_float<T>(as_float(dx[i]) + each);
    }
  });
}

template <class T>
void argmax(
    ThreadPool& threads, const T* x, std::int64_t* index, std::int64_t rows, std::int64_t columns) {
  threads.parallel_for(rows, row_grain(columns), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) index[r] = largest_of(x + r * columns, columns);
  });
}

template <class T>
void top_k(ThreadPool& threads,
           const T* x,
           T* values,
           std::int64_t* index,
           std::int64_t rows,
           std::int64_t columns,
           std::int64_t k) {
  threads.parallel_for(rows, row_grain(columns), [=](std::int64_t begin, std::int64_t end) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(columns));
    for (std::int64_t r = begin; r < end; ++r) {
      const T* row = x + r * columns;
      std::iota(order.begin(), order.end(), std::int64_t{0});
      std::partial_sort(
          order.begin(), order.begin() + k, order.end(), [row](std::int64_t a, std::int64_t b) {
            const float left = as_float(row[a]);
            const float right = as_float(row[b]);
            return larger(left, right) || (!larger(right, left) && a < b);
          });
      for (std::int64_t i = 0; i < k; ++i) {
        index[r * k + i] = order[static_cast<std::size_t>(i)];
        values[r * k + i] = row[index[r * k + i]];
      }
    }
  });
}

template <class T>
void count_hits(const Exec& exec,
                const T* x,
                const HitTarget<float>& target,
                std::int64_t k,
                bool misses,
                std::int64_t* count) {
  std::int64_t partials[ThreadPool::kMaxChunks] = {};
  std::int64_t* out = partials;
  const std::int64_t columns = target.columns;
  exec.threads.for_chunks(target.rows,
                          row_grain(columns),
                          [=, &target](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
                            for (std::int64_t r = begin; r < end; ++r) {
                              const std::int64_t wanted =
                                  target.classes != nullptr
                                      ? target.classes[r]
                                      : largest_of(target.weights + r * columns, columns);
                              out[chunk] += in_top_k(x + r * columns, columns, wanted, k);
                            }
                          });
  const std::int64_t hits =
      std::accumulate(std::begin(partials), std::end(partials), std::int64_t{0});
  *count += misses ? target.rows - hits : hits;
}

#define LEARN_INSTANTIATE(T)                                                                 \
  template void sum(const Exec&, const T*, double, float*, std::int64_t);                    \
  template void sum_backward(ThreadPool&, const float*, double, T*, GradMode, std::int64_t); \
  template void argmax(ThreadPool&, const T*, std::int64_t*, std::int64_t, std::int64_t);    \
  template void top_k(                                                                       \
      ThreadPool&, const T*, T*, std::int64_t*, std::int64_t, std::int64_t, std::int64_t);   \
  template void count_hits(                                                                  \
      const Exec&, const T*, const HitTarget<float>&, std::int64_t, bool, std::int64_t*);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cpu
