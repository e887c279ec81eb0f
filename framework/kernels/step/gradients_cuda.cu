// Half to master gradients, their norm and clipping, each in a pass over the gradients with f32
// arithmetic. Any thread that finds a value that is not finite sets found_inf; all write the same
// value. The norm consists of partial sums per block, with ordinary and large squares separated,
// which one block joins. It may lower the multiplier that the optimizer applies, so clipping by
// norm needs no separate pass.
#include "framework/core/dtype.h"
#include "framework/kernels/common/cuda/map.cuh"
#include "framework/kernels/common/cuda/sum.cuh"
#include "framework/kernels/step/gradients_kernels.h"
#include "framework/kernels/step/step_rules.h"

#include <algorithm>

namespace learn::cuda {
namespace {

/// Sets `found_inf` for a value that is not finite. All threads write the same value, so the order
/// does not matter.
__device__ float flag_if_nonfinite(float value, StepControl* control) {
  if (!isfinite(value)) atomicOr(&control->found_inf, 1);
  return value;
}

struct Unscaled {
  StepControl* control;
  __device__ float operator()(std::int64_t, float x) const {
    return flag_if_nonfinite(x * control->inverse_scale, control);
  }
};
struct UnscaledSum {
  StepControl* control;
  __device__ float operator()(std::int64_t, float x, float before) const {
    return flag_if_nonfinite(fmaf(x, control->inverse_scale, before), control);
  }
};
struct Clamped {
  float limit;
  const StepControl* control;
  __device__ float operator()(std::int64_t, float x) const {
    const float own = limit / control->grad_multiplier;
    const float below = x > own ? own : x;  // comparisons keep NaN
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
    for (int k = 0; k < kCount; ++k) (void)flag_if_nonfinite(device::load(pack.v[k]), control);
    return;
  }
  const std::int64_t i = packs * kCount + (thread - packs);
  if (i < n) (void)flag_if_nonfinite(device::load(x[i]), control);
}

// Squares of f32 overflow from 1.8e19 on. So elements above 2^60 are added up separately and scaled
// down, as in Blue's norm (1978). Below 1e-19 squares vanish, which has no effect on a norm of
// gradients.
constexpr float kLarge = 0x1p60F;
constexpr float kDown = 0x1p-70F;

/// Computes workspace (2, blocks): the sums of ordinary squares, then of large squares times
/// kDown^2.
template <class T>
__global__ void squares_kernel(std::int64_t n, std::int64_t packs, const T* x, float* workspace) {
  constexpr int kCount = device::kPack<T>;
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
    for (int k = 0; k < kCount; ++k) add(device::load(pack.v[k]));
  }
  for (std::int64_t i = packs * kCount + device::thread_index(); i < n; i += threads)
    add(device::load(x[i]));
  ordinary = device::block_sum<kSumThreads>(ordinary);
  large = device::block_sum<kSumThreads>(large);
  if (threadIdx.x != 0) return;
  workspace[2 * blockIdx.x] = ordinary;
  workspace[2 * blockIdx.x + 1] = large;
}

/// Joins the sums to the norm. If there is a control block, lowers its gradient multiplier
/// accordingly.
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

}  // namespace

template <class From>
void unscale(const Exec& exec,
             const From* x,
             float* y,
             StepControl* control,
             GradMode mode,
             std::int64_t n) {
  const float* before = y;
  if (mode == GradMode::accumulate)
    map("unscale", exec, n, UnscaledSum{control}, y, x, before);
  else
    map("unscale", exec, n, Unscaled{control}, y, x);
}

void unscale_in_place(const Exec& exec, float* x, StepControl* control, std::int64_t n) {
  const float* from = x;
  map("unscale_in_place", exec, n, Unscaled{control}, x, from);
}

template <class T>
void find_non_finite(const Exec& exec, const T* x, StepControl* control, std::int64_t n) {
  constexpr int kCount = device::kPack<T>;
  const std::int64_t packs = device::packs_in<kCount>(n, x);
  const Grid grid = elementwise_grid<kCount>(n, packs);
  launch("find_non_finite", find_non_finite_kernel<T>, grid, exec, n, packs, x, control);
}

template <class T>
void clip_by_value(
    const Exec& exec, T* x, float limit, const StepControl* control, std::int64_t n) {
  const T* from = x;
  map("clip_by_value", exec, n, Clamped{limit, control}, x, from);
}

template <class T>
void clip_by_norm(const Exec& exec,
                  std::span<const kernels::Range<T>> ranges,
                  float* norm,
                  float max_norm,
                  StepControl* control) {
  constexpr int kCount = device::kPack<T>;
  std::int64_t pairs = 0;
  for (const kernels::Range<T>& range : ranges) pairs += partials_of(range.size);
  const FloatWorkspace workspace(exec, 2 * pairs);
  float* const sums = workspace.data();
  float* at = sums;
  for (const kernels::Range<T>& range : ranges) {
    const std::int64_t packs = device::packs_in<kCount>(range.size, range.data);
    const Grid grid = sum_grid(range.size);
    launch("add_squares", squares_kernel<T>, grid, exec, range.size, packs, range.data, at);
    at += 2 * grid.blocks;
  }
  const Grid one = single_block(kSumThreads);
  launch("join_norm", join_norm_kernel, one, exec, pairs, sums, norm, max_norm, control);
}

template void unscale(const Exec&, const Half*, float*, StepControl*, GradMode, std::int64_t);
template void unscale(const Exec&, const BFloat16*, float*, StepControl*, GradMode, std::int64_t);
#define LEARN_INSTANTIATE(T)                                                         \
  template void find_non_finite(const Exec&, const T*, StepControl*, std::int64_t);  \
  template void clip_by_norm(                                                        \
      const Exec&, std::span<const kernels::Range<T>>, float*, float, StepControl*); \
  template void clip_by_value(const Exec&, T*, float, const StepControl*, std::int64_t);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cuda
