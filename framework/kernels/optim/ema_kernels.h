#pragma once
#include "framework/kernels/common/step_control.h"
#include "framework/kernels/optim/ema_options.h"
#include "framework/runtime/exec.h"

#include <cstdint>

namespace learn::cpu {

template <class T>
void ema_update(ThreadPool& threads,
                const T* weight,
                const EmaOptions& options,
                const StepControl* control,
                float* average,
                std::int64_t n);

}  // namespace learn::cpu

namespace learn::cuda {

template <class T>
void ema_update(Stream stream,
                const T* weight,
                const EmaOptions& options,
                const StepControl* control,
                float* average,
                std::int64_t n);

}  // namespace learn::cuda
