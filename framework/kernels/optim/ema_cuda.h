#pragma once
#include "framework/kernels/common/step_control.h"
#include "framework/kernels/optim/ema_options.h"
#include "framework/runtime/cuda/stream.h"

#include <cstdint>

namespace learn::cuda {

/// The CUDA twin of ema.h: one pass, arithmetic in f32. Device pointers; enqueues only.
void ema_update(Stream stream,
                const float* weight,
                const EmaOptions& options,
                const StepControl* control,
                float* average,
                std::int64_t n);

}  // namespace learn::cuda
