#pragma once
#include "framework/kernels/common/step_control.h"
#include "framework/kernels/optim/ema_options.h"
#include "framework/runtime/exec.h"

#include <cstdint>

namespace learn::cpu {

void ema_update(ThreadPool& threads,
                const float* weight,
                const EmaOptions& options,
                const StepControl* control,
                float* average,
                std::int64_t n);

}  // namespace learn::cpu

namespace learn::cuda {

void ema_update(Stream stream,
                const float* weight,
                const EmaOptions& options,
                const StepControl* control,
                float* average,
                std::int64_t n);

}  // namespace learn::cuda
