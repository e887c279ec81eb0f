#pragma once
#include "framework/backend/ema_options.h"
#include "framework/core/thread_pool.h"

#include <cstdint>

namespace learn::backend::cpu {

/// The fast CPU twin of backend/ema.h, in f32. `update` counts from 1.
void ema_update(ThreadPool& threads,
                const float* weight,
                const EmaOptions& options,
                std::int64_t update,
                float* average,
                std::int64_t n);

}  // namespace learn::backend::cpu
