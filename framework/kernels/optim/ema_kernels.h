#pragma once
#include "framework/kernels/common/step_control.h"
#include "framework/kernels/optim/ema_options.h"
#include "framework/runtime/exec.h"

#include <cstdint>

LEARN_CPU_AND_CUDA(template <class T> void ema_update(Worker worker,
                                                      const T* weight,
                                                      const EmaOptions& options,
                                                      const StepControl* control,
                                                      float* average,
                                                      std::int64_t n);)
