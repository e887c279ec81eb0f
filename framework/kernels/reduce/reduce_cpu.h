#pragma once
#include "framework/core/thread_pool.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/reduce/hit_target.h"
#include "framework/tensor/convert.h"

#include <cstdint>

/// The fast CPU twins: f32, f16, bf16; sums in f32 lanes, joined in f64.
namespace learn::cpu {

template <class T>
void sum(ThreadPool& threads, const T* x, double factor, float* y, std::int64_t n);

template <class T>
void sum_backward(
    ThreadPool& threads, const float* dy, double factor, T* dx, GradMode mode, std::int64_t n);

template <class T>
void argmax(
    ThreadPool& threads, const T* x, std::int64_t* index, std::int64_t rows, std::int64_t columns);

template <class T>
void top_k(ThreadPool& threads,
           const T* x,
           T* values,
           std::int64_t* index,
           std::int64_t rows,
           std::int64_t columns,
           std::int64_t k);

/// How many rows have their class among the k largest; NaN as reduce.h says. Classes must
/// be in range.
template <class T>
[[nodiscard]] std::int64_t count_hits(ThreadPool& threads,
                                      const T* x,
                                      const HitTarget<WideType<T>>& target,
                                      std::int64_t k);

}  // namespace learn::cpu
