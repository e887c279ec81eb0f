#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/optim/ema_kernels.h"
#include "framework/tensor/convert.h"

#include <algorithm>

namespace learn::cpu {

template <class T>
void ema_update(ThreadPool& threads,
                const T* weight,
                const EmaOptions& options,
                const StepControl* control,
                float* average,
                std::int64_t n) {
  if (control->found_inf != 0) return;
  const std::int64_t update = control->step - options.first_step;
  constexpr std::int64_t kGrain = 16384;  // about 10 microseconds of memory traffic
  // This is 1 - (1 + t) / (10 + t) without the cancellation.
  const double early = options.warmup ? 9.0 / (10.0 + static_cast<double>(update)) : 0.0;
  const auto share = static_cast<float>(std::max(early, 1 - options.decay));
  simd::parallel_for(threads, n, kGrain, [=](std::int64_t begin, std::int64_t end) {
    LEARN_VECTORIZE
    for (std::int64_t i = begin; i < end; ++i)
      average[i] += share * (as_float(weight[i]) - average[i]);
  });
}

#define LEARN_INSTANTIATE(T) \
  template void ema_update(  \
      ThreadPool&, const T*, const EmaOptions&, const StepControl*, float*, std::int64_t);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cpu
