#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/cuda/fault.h"
#include "framework/runtime/cuda/stream.h"

#include <cstdint>

/// The CUDA twins: f32, f16, bf16; sums in f32. Device pointers; enqueue only.
namespace learn::cuda {

/// Floats of scratch memory that `sum` needs.
[[nodiscard]] std::int64_t sum_workspace(std::int64_t n);
template <class T>
void sum(Stream stream, const T* x, float factor, float* y, std::int64_t n, float* workspace);
template <class T>
void sum_backward(
    Stream stream, const float* dy, float factor, T* dx, GradMode mode, std::int64_t n);

template <class T>
void argmax(
    Stream stream, const T* x, std::int64_t* index, std::int64_t rows, std::int64_t columns);
template <class T>
void top_k(Stream stream,
           const T* x,
           T* values,
           std::int64_t* index,
           std::int64_t rows,
           std::int64_t columns,
           std::int64_t k);
/// The classes of scores (rows, columns): one of `classes` (rows) and `weights` (rows, columns) is
/// not null.
struct HitTarget {
  const std::int64_t* classes;
  const float* weights;
  std::int64_t rows, columns;
};
/// A class out of range is noted in `fault` and counts neither as a hit nor as a miss.
template <class T>
void count_hits(Stream stream,
                const T* x,
                const HitTarget& target,
                std::int64_t k,
                bool misses,
                std::int64_t* count,
                Fault* fault);

}  // namespace learn::cuda
