#pragma once
#include "framework/backend/cuda/stream.h"
#include "framework/backend/ema_options.h"
#include "framework/backend/step_control.h"

#include <cstdint>

namespace learn::backend::cuda {

/// The CUDA twin of backend/ema.h: one pass, arithmetic in f32. Device pointers; enqueues only.
void ema_update(Stream stream,
                const float* weight,
                const EmaOptions& options,
                const StepControl* control,
                float* average,
                std::int64_t n);

}  // namespace learn::backend::cuda
