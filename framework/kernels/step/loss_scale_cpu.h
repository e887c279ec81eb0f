#pragma once
#include "framework/core/thread_pool.h"
#include "framework/kernels/common/grad_mode.h"

#include <cstdint>

/// The fast CPU twin: vectorised and threaded; one partial result per chunk.
namespace learn::cpu {

/// y (+)= x * factor; true if every result is finite. `y` may be `x`.
template <class From>
[[nodiscard]] bool scale_to_f32(
    ThreadPool& threads, const From* x, float factor, float* y, GradMode mode, std::int64_t n);
template <class T>
[[nodiscard]] bool all_finite(ThreadPool& threads, const T* x, std::int64_t n);
/// 32 double lanes per chunk, chunks added in order.
[[nodiscard]] double sum_of_squares(ThreadPool& threads, const float* x, std::int64_t n);
/// Into [-limit, limit]; NaN stays NaN.
void clamp(ThreadPool& threads, float* x, float limit, std::int64_t n);

}  // namespace learn::cpu
