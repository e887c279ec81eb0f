#include "framework/core/dtype.h"
#include "framework/kernels/common/cuda/map.cuh"
#include "framework/kernels/common/cuda/sum.cuh"
#include "framework/kernels/step/loss_scale_cuda.h"
#include "framework/kernels/step/step_rules.h"

#include <algorithm>

namespace learn::cuda {
namespace {

/// One thread lets `rule` change the control block.
template <class Rule>
__global__ void change_kernel(Rule rule, StepControl* control) {
  rule(*control);
}

template <class Rule>
void change(const char* name, Stream stream, Rule rule, StepControl* control) {
  launch(name, change_kernel<Rule>, 1, 1, stream, rule, control);
}

struct Write {
  StepControl value;
  __device__ void operator()(StepControl& control) const { control = value; }
};
struct SetScale {
  float scale;
  __device__ void operator()(StepControl& control) const { step_rules::set_scale(control, scale); }
};
struct Begin {
  __device__ void operator()(StepControl& control) const { step_rules::begin(control); }
};

/// Every thread that meets such a value says the same, so the order does not matter.
__device__ float noted(float value, StepControl* control) {
  if (!isfinite(value)) atomicOr(&control->found_inf, 1);
  return value;
}

struct Unscaled {
  StepControl* control;
  __device__ float operator()(std::int64_t, float x) const {
    return noted(x * control->inverse_scale, control);
  }
};
struct UnscaledSum {
  StepControl* control;
  __device__ float operator()(std::int64_t, float x, float before) const {
    return noted(fmaf(x, control->inverse_scale, before), control);
  }
};
struct Clamped {
  float limit;
  const StepControl* control;
  __device__ float operator()(std::int64_t, float x) const {
    const float own = limit / control->grad_multiplier;
    const float below = x > own ? own : x;  // comparisons let NaN pass
    return below < -own ? -own : below;
  }
};

template <class T>
__global__ void find_non_finite_kernel(std::int64_t n,
                                       std::int64_t packs,
                                       const T* x,
                                       StepControl* control) {
  constexpr int kCount = device::kPack<T>;
  const std::int64_t thread = device::thread_index();
  if (thread < packs) {
    const auto pack = device::load_pack<kCount>(x, thread);
#pragma unroll
    for (int k = 0; k < kCount; ++k) (void)noted(device::load(pack.v[k]), control);
    return;
  }
  const std::int64_t i = packs * kCount + (thread - packs);
  if (i < n) (void)noted(device::load(x[i]), control);
}

// Squares of f32 overflow from 1.8e19 on. Elements above 2^60 are added up apart, scaled down, as
// in Blue's norm (1978); below 1e-19 squares vanish, which no norm of gradients can notice.
constexpr float kLarge = 0x1p60F;
constexpr float kDown = 0x1p-70F;

/// workspace (2, blocks): sums of ordinary squares, then of large ones times kDown^2.
__global__ void squares_kernel(std::int64_t n,
                               std::int64_t packs,
                               const float* x,
                               float* workspace) {
  constexpr int kCount = device::kPack<float>;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * kSumThreads;
  float ordinary = 0;
  float large = 0;
  const auto add = [&](float value) {
    const bool is_large = fabsf(value) > kLarge;
    const float scaled = is_large ? value * kDown : value;
    const float square = scaled * scaled;
    ordinary += is_large ? 0.0F : square;
    large += is_large ? square : 0.0F;
  };
#pragma unroll 2
  for (std::int64_t i = device::thread_index(); i < packs; i += threads) {
    const auto pack = device::load_pack<kCount>(x, i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) add(pack.v[k]);
  }
  for (std::int64_t i = packs * kCount + device::thread_index(); i < n; i += threads) add(x[i]);
  ordinary = device::block_sum<kSumThreads>(ordinary);
  large = device::block_sum<kSumThreads>(large);
  if (threadIdx.x != 0) return;
  workspace[2 * blockIdx.x] = ordinary;
  workspace[2 * blockIdx.x + 1] = large;
}

/// With a control block, its gradient multiplier is lowered to suit the norm.
__global__ void join_norm_kernel(
    std::int64_t pairs, const float* workspace, float* norm, float max_norm, StepControl* control) {
  float ordinary = 0;
  float large = 0;
  for (std::int64_t i = threadIdx.x; i < pairs; i += kSumThreads) {
    ordinary += workspace[2 * i];
    large += workspace[2 * i + 1];
  }
  ordinary = device::block_sum<kSumThreads>(ordinary);
  large = device::block_sum<kSumThreads>(large);
  if (threadIdx.x != 0) return;
  const float joined =
      large > 0 ? sqrtf(large + ordinary * kDown * kDown) / kDown : sqrtf(ordinary + large);
  *norm = joined;
  if (control != nullptr) step_rules::clip_by_norm(*control, joined, max_norm);
}

/// All threads read `found_inf`, which nobody writes here; the first one changes the rest.
__global__ void end_step_kernel(
    float* live, float* committed, std::int64_t n, LossScaleOptions scaling, StepControl* control) {
  const std::int64_t i = device::thread_index();
  if (i < n) {
    if (control->found_inf != 0)
      live[i] = committed[i];
    else
      committed[i] = live[i];
  }
  if (i == 0) step_rules::end(*control, scaling);
}

}  // namespace

void write_control(Stream stream, const StepControl& value, StepControl* control) {
  change("write_control", stream, Write{value}, control);
}
void set_loss_scale(Stream stream, float scale, StepControl* control) {
  change("set_loss_scale", stream, SetScale{scale}, control);
}
void begin_step(Stream stream, StepControl* control) {
  change("begin_step", stream, Begin{}, control);
}
void end_step(Stream stream,
              float* live,
              float* committed,
              std::int64_t n,
              const LossScaleOptions& scaling,
              StepControl* control) {
  launch("end_step",
         end_step_kernel,
         ceil_div(std::max<std::int64_t>(n, 1), device::kElementwiseThreads),
         device::kElementwiseThreads,
         stream,
         live,
         committed,
         n,
         scaling,
         control);
}

template <class From>
void unscale(
    Stream stream, const From* x, float* y, StepControl* control, GradMode mode, std::int64_t n) {
  const float* before = y;
  if (mode == GradMode::accumulate)
    map("unscale", stream, n, UnscaledSum{control}, y, x, before);
  else
    map("unscale", stream, n, Unscaled{control}, y, x);
}

void unscale_in_place(Stream stream, float* x, StepControl* control, std::int64_t n) {
  const float* from = x;
  map("unscale_in_place", stream, n, Unscaled{control}, x, from);
}

template <class T>
void find_non_finite(Stream stream, const T* x, StepControl* control, std::int64_t n) {
  constexpr int kCount = device::kPack<T>;
  const std::int64_t packs = device::aligned_for<kCount>(x) ? n / kCount : 0;
  launch("find_non_finite",
         find_non_finite_kernel<T>,
         ceil_div(packs + (n - packs * kCount), device::kElementwiseThreads),
         device::kElementwiseThreads,
         stream,
         n,
         packs,
         x,
         control);
}

void clip_by_value(
    Stream stream, float* x, float limit, const StepControl* control, std::int64_t n) {
  const float* from = x;
  map("clip_by_value", stream, n, Clamped{limit, control}, x, from);
}

std::int64_t squares_workspace(std::int64_t n) { return 2 * partials_of(n); }

void add_squares(Stream stream, const float* x, std::int64_t n, float* workspace) {
  constexpr int kCount = device::kPack<float>;
  launch("add_squares",
         squares_kernel,
         partials_of(n),
         kSumThreads,
         stream,
         n,
         device::aligned_for<kCount>(x) ? n / kCount : 0,
         x,
         workspace);
}

void join_norm(Stream stream,
               std::int64_t floats,
               const float* workspace,
               float* norm,
               float max_norm,
               StepControl* control) {
  launch("join_norm",
         join_norm_kernel,
         1,
         kSumThreads,
         stream,
         floats / 2,
         workspace,
         norm,
         max_norm,
         control);
}

template void unscale(Stream, const Half*, float*, StepControl*, GradMode, std::int64_t);
template void unscale(Stream, const BFloat16*, float*, StepControl*, GradMode, std::int64_t);
template void find_non_finite(Stream, const float*, StepControl*, std::int64_t);
template void find_non_finite(Stream, const Half*, StepControl*, std::int64_t);
template void find_non_finite(Stream, const BFloat16*, StepControl*, std::int64_t);

}  // namespace learn::cuda
