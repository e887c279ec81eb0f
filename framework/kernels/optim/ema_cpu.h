#pragma once
#include "framework/core/thread_pool.h"
#include "framework/kernels/optim/ema_options.h"

#include <cstdint>

namespace learn::cpu {

/// The fast CPU twin of ema.h, in f32. `update` counts from 1.
void ema_update(ThreadPool& threads,
                const float* weight,
                const EmaOptions& options,
                std::int64_t update,
                float* average,
                std::int64_t n);

}  // namespace learn::cpu
