// Sums of all elements, and rankings in rows.
//
// sum: partial sums of blocks, then one block; reads x once. argmax, top_k, count_hits: a warp per
// row finds the first candidate after the previous one, with k sweeps for the k largest. Rows of
// logits are short and stay in the cache.
#include "framework/core/dtype.h"
#include "framework/kernels/common/cuda/map.cuh"
#include "framework/kernels/common/cuda/sum.cuh"
#include "framework/kernels/reduce/reduce_kernels.h"
#include "framework/runtime/cuda/fault.cuh"

namespace learn::cuda {

using HitTarget = kernels::HitTarget<float>;

namespace {

struct Itself {
  __device__ float operator()(float x) const { return x; }
};

/// The gradient of each element, which is the same for all.
struct Spread {
  const float* dy;
  float factor;
  __device__ float operator()(std::int64_t) const { return factor * *dy; }
};

/// A value and its position in a row. NaN is larger than any number; of equal values, the first is
/// larger.
struct Candidate {
  float value;
  std::int64_t place;
};

__device__ bool larger(float a, float b) { return a > b || (isnan(a) && !isnan(b)); }
/// A strict order: of two candidates, exactly one comes before the other.
__device__ bool before(const Candidate& a, const Candidate& b) {
  return larger(a.value, b.value) || (!larger(b.value, a.value) && a.place < b.place);
}

constexpr std::int64_t kNowhere = INT64_MAX;  // the place of "no candidate": comes last of equals
constexpr int kRowThreads = 128;              // four rows per block

/// Returns the first candidate of a row after `previous`, in the order of `before`. A warp
/// processes the row, and each lane gets the result.
template <class T>
__device__ Candidate best_after(const T* row, std::int64_t columns, const Candidate* previous) {
  Candidate best{-INFINITY, kNowhere};
  for (std::int64_t c = device::lane_index(); c < columns; c += 32) {
    const Candidate here{device::load(row[c]), c};
    if (previous != nullptr && !before(*previous, here)) continue;
    if (before(here, best)) best = here;
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    const Candidate other{__shfl_xor_sync(device::kWholeWarp, best.value, distance),
                          __shfl_xor_sync(device::kWholeWarp, best.place, distance)};
    if (before(other, best)) best = other;
  }
  return best;
}

template <class T>
__global__ void argmax_kernel(const T* x,
                              std::int64_t* index,
                              std::int64_t rows,
                              std::int64_t columns) {
  const std::int64_t row = device::thread_index() / 32;
  if (row >= rows) return;  // whole warps only
  const Candidate best = best_after(x + row * columns, columns, nullptr);
  if (device::lane_index() == 0) index[row] = best.place;
}

template <class T>
__global__ void top_k_kernel(const T* x,
                             T* values,
                             std::int64_t* index,
                             std::int64_t rows,
                             std::int64_t columns,
                             std::int64_t k) {
  const std::int64_t row = device::thread_index() / 32;
  if (row >= rows) return;  // whole warps only
  Candidate best = best_after(x + row * columns, columns, nullptr);
  for (std::int64_t i = 0; i < k; ++i) {
    if (i > 0) {
      const Candidate previous = best;
      best = best_after(x + row * columns, columns, &previous);
    }
    if (device::lane_index() == 0) {
      index[row * k + i] = best.place;
      values[row * k + i] = x[row * columns + best.place];
    }
  }
}

template <class T>
__global__ void count_hits_kernel(const T* x,
                                  HitTarget target,
                                  std::int64_t k,
                                  bool misses,
                                  unsigned long long* count,
                                  Fault* fault) {
  const std::int64_t row = device::thread_index() / 32;
  if (row >= target.rows) return;  // whole warps only
  const std::int64_t columns = target.columns;
  const std::int64_t wanted =
      target.classes != nullptr
          ? target.classes[row]
          : best_after(target.weights + row * columns, columns, nullptr).place;
  if (wanted < 0 || wanted >= columns) {
    if (device::lane_index() == 0) note_fault(fault, row, wanted, columns);
    return;
  }
  const T* values = x + row * columns;
  const float own = device::load(values[wanted]);
  std::int64_t ahead = 0;
  for (std::int64_t c = device::lane_index(); c < columns; c += 32) {
    const float other = device::load(values[c]);
    ahead += (c < wanted ? other < own : other <= own) ? 0 : 1;  // NaN ranks ahead
  }
  ahead = device::warp_reduce(ahead, [](std::int64_t a, std::int64_t b) { return a + b; });
  const bool hit = !isnan(own) && ahead < k;
  // These are integers, so the order of additions has no effect.
  if (device::lane_index() == 0 && hit != misses) atomicAdd(count, 1ULL);
}

Grid row_grid(std::int64_t rows) { return warp_each(rows, kRowThreads); }

}  // namespace

template <class T>
void sum(const Exec& exec, const T* x, double factor, float* y, std::int64_t n) {
  const FloatWorkspace partial(exec, partials_of(n));
  partial_sums("sum", exec, n, Itself{}, partial.data(), x);
  reduce_partials(exec, partials_of(n), partial.data(), ScaleBy{static_cast<float>(factor)}, y);
}

template <class T>
void sum_backward(
    Stream stream, const float* dy, double factor, T* dx, GradMode mode, std::int64_t n) {
  map("sum_backward", stream, mode, n, Spread{dy, static_cast<float>(factor)}, dx);
}

template <class T>
void argmax(
    Stream stream, const T* x, std::int64_t* index, std::int64_t rows, std::int64_t columns) {
  launch("argmax", argmax_kernel<T>, row_grid(rows), stream, x, index, rows, columns);
}

template <class T>
void top_k(Stream stream,
           const T* x,
           T* values,
           std::int64_t* index,
           std::int64_t rows,
           std::int64_t columns,
           std::int64_t k) {
  launch("top_k", top_k_kernel<T>, row_grid(rows), stream, x, values, index, rows, columns, k);
}

template <class T>
void count_hits(const Exec& exec,
                const T* x,
                const HitTarget& target,
                std::int64_t k,
                bool misses,
                std::int64_t* count) {
  launch("count_hits",
         count_hits_kernel<T>,
         row_grid(target.rows),
         exec,
         x,
         target,
         k,
         misses,
         reinterpret_cast<unsigned long long*>(count),
         exec.fault(FaultKind::hit_class));
}

#define LEARN_INSTANTIATE(T)                                                            \
  template void sum(const Exec&, const T*, double, float*, std::int64_t);               \
  template void sum_backward(Stream, const float*, double, T*, GradMode, std::int64_t); \
  template void argmax(Stream, const T*, std::int64_t*, std::int64_t, std::int64_t);    \
  template void top_k(                                                                  \
      Stream, const T*, T*, std::int64_t*, std::int64_t, std::int64_t, std::int64_t);   \
  template void count_hits(                                                             \
      const Exec&, const T*, const HitTarget&, std::int64_t, bool, std::int64_t*);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cuda
