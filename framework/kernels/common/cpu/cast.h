#pragma once
#include "framework/core/threads/thread_pool.h"
#include "framework/kernels/common/grad_mode.h"

#include <cstdint>

/// Conversions on the CPU between any two of f32, f16 and bf16, bit for bit as in core/dtype.h.
namespace learn::cpu {

template <class From, class To>
void cast(ThreadPool& threads, const From* x, To* y, GradMode mode, std::int64_t n);

}  // namespace learn::cpu
