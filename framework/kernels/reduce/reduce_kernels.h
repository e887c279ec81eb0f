#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/exec.h"

#include <cstdint>

namespace learn::kernels {

/// The classes for scores (rows, columns). One of `classes` (rows) and `weights` (rows, columns) is
/// not null.
template <class Wide>
struct HitTarget {
  const std::int64_t* classes;
  const Wide* weights;
  std::int64_t rows, columns;
};

}  // namespace learn::kernels

/// Sums are in f32; on the CPU they are in lanes, which are joined in f64.
LEARN_CPU_AND_CUDA(
    template <class T>
    void sum(const Exec& exec, const T* x, double factor, float* y, std::int64_t n);
    template <class T>
    void sum_backward(
        Worker worker, const float* dy, double factor, T* dx, GradMode mode, std::int64_t n);
    template <class T>
    void argmax(
        Worker worker, const T* x, std::int64_t* index, std::int64_t rows, std::int64_t columns);
    template <class T>
    void top_k(Worker worker,
               const T* x,
               T* values,
               std::int64_t* index,
               std::int64_t rows,
               std::int64_t columns,
               std::int64_t k);
    /// Adds to count the rows whose class is among the k largest, or the other rows; NaN as in
    /// reduce.h. CUDA records a class out of range as a fault and counts it as neither. For the
    /// CPU, classes must be in range.
    template <class T>
    void count_hits(const Exec& exec,
                    const T* x,
                    const kernels::HitTarget<float>& target,
                    std::int64_t k,
                    bool misses,
                    std::int64_t* count);)
