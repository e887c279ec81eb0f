#pragma once
#include "framework/kernels/optim/ema_kernels.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cstdint>

namespace learn::reference {

/// Updates in double, rounded once when stored.
template <class T>
void ema_update(Exec,
                const T* weight,
                const EmaOptions& options,
                const StepControl* control,
                float* average,
                std::int64_t n) {
  if (control->found_inf != 0) return;
  const auto t = static_cast<double>(control->step - options.first_step);
  const double decay = options.warmup ? std::min(options.decay, (1 + t) / (10 + t)) : options.decay;
  for (std::int64_t i = 0; i < n; ++i)
    average[i] = static_cast<float>(decay * static_cast<double>(average[i]) +
                                    (1 - decay) * as_double(weight[i]));
}

}  // namespace learn::reference
