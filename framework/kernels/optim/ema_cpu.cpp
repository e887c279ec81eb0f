#include "framework/kernels/optim/ema_cpu.h"

#include "framework/kernels/common/cpu/vectorize.h"

#include <algorithm>

namespace learn::cpu {

void ema_update(ThreadPool& threads,
                const float* weight,
                const EmaOptions& options,
                std::int64_t update,
                float* average,
                std::int64_t n) {
  constexpr std::int64_t kGrain = 16384;  // about 10 microseconds of memory traffic
  // 1 - (1 + t) / (10 + t), without the cancellation.
  const double early = options.warmup ? 9.0 / (10.0 + static_cast<double>(update)) : 0.0;
  const auto share = static_cast<float>(std::max(early, 1 - options.decay));
  simd::parallel_for(threads, n, kGrain, [=](std::int64_t begin, std::int64_t end) {
    LEARN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i) average[i] += share * (weight[i] - average[i]);
  });
}

}  // namespace learn::cpu
