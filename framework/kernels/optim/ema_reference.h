#pragma once
#include "framework/kernels/optim/ema_options.h"

#include <algorithm>
#include <cstdint>

namespace learn::cpu::reference {

/// The oracle: in double, rounded once when stored.
inline void ema_update(const float* weight,
                       const EmaOptions& options,
                       std::int64_t update,
                       float* average,
                       std::int64_t n) {
  const auto t = static_cast<double>(update);
  const double decay = options.warmup ? std::min(options.decay, (1 + t) / (10 + t)) : options.decay;
  for (std::int64_t i = 0; i < n; ++i)
    average[i] = static_cast<float>(decay * static_cast<double>(average[i]) +
                                    (1 - decay) * static_cast<double>(weight[i]));
}

}  // namespace learn::cpu::reference
