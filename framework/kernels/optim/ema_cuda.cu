// average += share * (weight - average), with share = max(1 - decay, 9 / (10 + t)) during warm-up.
// One pass, 12 bytes per f32 weight.
#include "framework/kernels/common/cuda/map.cuh"
#include "framework/kernels/optim/ema_kernels.h"

namespace learn::cuda {
namespace {

struct Average {
  const StepControl* control;
  std::int64_t first_step;
  float share;  ///< of the weight, after the warm-up
  bool warmup;

  __device__ float operator()(std::int64_t, float average, float weight) const {
    if (control->found_inf != 0) return average;
    const auto update = static_cast<float>(control->step - first_step);
    const float now = warmup ? fmaxf(share, 9.0F / (10.0F + update)) : share;
    return fmaf(now, weight - average, average);
  }
};

}  // namespace

template <class T>
void ema_update(Stream stream,
                const T* weight,
                const EmaOptions& options,
                const StepControl* control,
                float* average,
                std::int64_t n) {
  const Average f{
      control, options.first_step, static_cast<float>(1 - options.decay), options.warmup};
  const float* const before = average;
  map("ema_update", stream, n, f, average, before, weight);
}

#define LEARN_INSTANTIATE(T) \
  template void ema_update(  \
      Stream, const T*, const EmaOptions&, const StepControl*, float*, std::int64_t);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cuda
