#pragma once
#include "framework/core/threads/thread_pool.h"
#include "framework/kernels/common/grad_mode.h"

#include <cstdint>

/// On the CPU: any two of f32, f16, bf16. Bit for bit the conversions of core/dtype.h.
namespace learn::cpu {

template <class From, class To>
void cast(ThreadPool& threads, const From* x, To* y, GradMode mode, std::int64_t n);

}  // namespace learn::cpu
