// One pass over a segment of the flat buffers: reads w, g and the states, writes w, the states and
// the half copy.
//
//   g' = g * grad_multiplier [+ wd * w, coupled],  w' = w [* (1 - lr * wd), decoupled]
//   SGD:  b = momentum * b + (1 - dampening) * g',  w = w' - lr * b
//         (Nesterov: w = w' - lr * (g' + momentum * b))
//   Adam: m = b1 * m + (1 - b1) * g',  v = b2 * v + (1 - b2) * g'^2,
//         w = w' - lr * m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps)
//   RMSProp: v = a * v + (1 - a) * g'^2,  d = g' / (sqrt(v [- mean^2, centered]) + eps),
//         b = momentum * b + d,  w = w' - lr * b
//
// Hyper-parameters, the step number and found_inf are read on the device, so launches do not differ
// from step to step.
#include "framework/core/dtype.h"
#include "framework/kernels/common/cuda/device/convert.cuh"
#include "framework/kernels/common/cuda/device/elementwise.cuh"
#include "framework/kernels/common/cuda/launch.cuh"
#include "framework/kernels/optim/optim_kernels.h"

#include <algorithm>
#include <type_traits>

namespace learn::cuda {

using kernels::OptimArgs;

namespace {

constexpr int kThreads = 256;

// Multiplications and additions are fused explicitly. If this were left to the compiler, packs and
// tails could be rounded differently, but a group must be updated identically as one run and
// parameter by parameter.

/// Returns 1 - beta^t without cancellation for beta near 1.
__device__ float one_minus_power(float beta, std::int64_t t) {
  return -expm1f(static_cast<float>(t) * logf(beta));
}

struct PlainSgd {
  static constexpr int kStates = 0;
  float lr;
  __device__ PlainSgd(const GroupHypers& h, std::int64_t) : lr(h.lr) {}
  __device__ float operator()(float w, float g, float*) const { return fmaf(-lr, g, w); }
};

template <bool nesterov>
struct MomentumSgd {
  static constexpr int kStates = 1;
  float lr, momentum, buffer_weight, grad_weight;
  __device__ MomentumSgd(const GroupHypers& h, std::int64_t t)
      : lr(h.lr),
        momentum(h.momentum),
        buffer_weight(t == 1 ? 0.0F : h.momentum),
        grad_weight(t == 1 ? 1.0F : 1.0F - h.dampening) {}
  __device__ float operator()(float w, float g, float* state) const {
    state[0] = fmaf(buffer_weight, state[0], grad_weight * g);
    return fmaf(-lr, nesterov ? fmaf(momentum, state[0], g) : state[0], w);
  }
};

/// States: mean, mean square.
struct Adam {
  static constexpr int kStates = 2;
  float beta1, beta2, one_minus_beta1, one_minus_beta2, step, inv_sqrt_correction2, eps;
  __device__ Adam(const GroupHypers& h, std::int64_t t)
      : beta1(h.momentum),
        beta2(h.beta2),
        one_minus_beta1(1.0F - h.momentum),
        one_minus_beta2(1.0F - h.beta2),
        step(h.lr / one_minus_power(h.momentum, t)),
        inv_sqrt_correction2(1.0F / sqrtf(one_minus_power(h.beta2, t))),
        eps(h.eps) {}
  __device__ float operator()(float w, float g, float* state) const {
    state[0] = fmaf(beta1, state[0], one_minus_beta1 * g);
    state[1] = fmaf(beta2, state[1], one_minus_beta2 * g * g);
    return w - step * state[0] / fmaf(sqrtf(state[1]), inv_sqrt_correction2, eps);
  }
};

/// States: mean square, then the mean if centered, then the buffer if there is momentum.
template <bool centered, bool buffered>
struct RmsProp {
  static constexpr int kStates = 1 + (centered ? 1 : 0) + (buffered ? 1 : 0);
  float alpha, rest, eps, lr, momentum;
  __device__ RmsProp(const GroupHypers& h, std::int64_t)
      : alpha(h.beta2), rest(1.0F - h.beta2), eps(h.eps), lr(h.lr), momentum(h.momentum) {}
  __device__ float operator()(float w, float g, float* state) const {
    float variance = fmaf(alpha, state[0], rest * g * g);
    state[0] = variance;
    if constexpr (centered) {
      state[1] = fmaf(alpha, state[1], rest * g);
      // Rounding can make it negative; NaN stays NaN.
      variance = fmaf(-state[1], state[1], variance);
      variance = variance < 0.0F ? 0.0F : variance;
    }
    float direction = g / (sqrtf(variance) + eps);
    if constexpr (buffered) {
      direction = fmaf(momentum, state[kStates - 1], direction);
      state[kStates - 1] = direction;
    }
    return fmaf(-lr, direction, w);
  }
};

constexpr int kMaxStates = 3;
template <class S>
struct States {
  S* array[kMaxStates];
};

/// The operations that a step applies to every gradient and weight before the rule.
struct GradientTransform {
  float keep, coupled, multiplier;
};

template <int count, class S, class T, class Rule>
__device__ void update(const OptimArgs<S, T>& args,
                       const States<S>& states,
                       const Rule& rule,
                       const GradientTransform& transform,
                       std::int64_t i) {
  auto weight = device::load_pack<count>(args.weight, i);
  const auto grad = device::load_pack<count>(args.grad, i);
  constexpr int kStates = Rule::kStates;
  device::Pack<S, count> state[kStates > 0 ? kStates : 1];
#pragma unroll
  for (int s = 0; s < kStates; ++s) state[s] = device::load_pack<count>(states.array[s], i);
#pragma unroll
  for (int k = 0; k < count; ++k) {
    const float w = device::load(weight.v[k]);
    const float g = fmaf(device::load(grad.v[k]), transform.multiplier, transform.coupled * w);
    float own[kMaxStates] = {};
#pragma unroll
    for (int s = 0; s < kStates; ++s) own[s] = device::load(state[s].v[k]);
    weight.v[k] = device::store<S>(rule(w * transform.keep, g, own));
#pragma unroll
    for (int s = 0; s < kStates; ++s) state[s].v[k] = device::store<S>(own[s]);
  }
  device::store_pack(args.weight, i, weight);
#pragma unroll
  for (int s = 0; s < kStates; ++s) device::store_pack(states.array[s], i, state[s]);
  if constexpr (!std::is_same_v<T, S>) {
    device::Pack<T, count> rounded;
#pragma unroll
    for (int k = 0; k < count; ++k) rounded.v[k] = device::store<T>(device::load(weight.v[k]));
    device::store_pack(args.half, i, rounded);
  }
}

/// Updates packs in steps of the grid, then the tail. Does nothing in a step that is skipped.
template <class S, class T, class Rule>
__global__ void update_kernel(std::int64_t packs, OptimArgs<S, T> args, States<S> states) {
  if (args.control->found_inf != 0) return;
  const GroupHypers h = *args.hypers;
  const Rule rule(h, args.control->step - args.missed_steps + 1);
  const GradientTransform transform{
      .keep = args.decoupled ? fmaf(-h.lr, h.weight_decay, 1.0F) : 1.0F,
      .coupled = args.decoupled ? 0.0F : h.weight_decay,
      .multiplier = args.control->grad_multiplier};
  constexpr int kCount = device::kPack<S>;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = device::thread_index(); i < packs; i += threads)
    update<kCount>(args, states, rule, transform, i);
  for (std::int64_t i = packs * kCount + device::thread_index(); i < args.n; i += threads)
    update<1>(args, states, rule, transform, i);
}

template <class Rule, class S, class T>
void run(const char* name, Stream stream, const OptimArgs<S, T>& args, const States<S>& states) {
  // About as many threads as a device can hold, so that each computes the step's constants once for
  // several packs.
  constexpr std::int64_t kMaxBlocks = 2048;
  constexpr int kCount = device::kPack<S>;
  bool aligned = device::aligned_for<kCount>(args.weight, args.grad, args.half);
  for (int s = 0; s < Rule::kStates; ++s)
    aligned = aligned && device::aligned_for<kCount>(states.array[s]);
  const std::int64_t packs = aligned ? args.n / kCount : 0;
  const std::int64_t threads = std::max(packs, args.n - packs * kCount);
  const Grid grid{std::min(ceil_div(threads, kThreads), kMaxBlocks), kThreads};
  launch(name, update_kernel<S, T, Rule>, grid, stream, packs, args, states);
}

constexpr int kHypersPerLaunch = 32;  // 768 bytes of the 4 KiB a launch may carry

struct ManyHypers {
  GroupHypers value[kHypersPerLaunch];
};

__global__ void write_hypers_kernel(ManyHypers values, GroupHypers* blocks) {
  blocks[threadIdx.x] = values.value[threadIdx.x];
}

}  // namespace

template <class S, class T>
void sgd_step(Stream stream, const OptimArgs<S, T>& args, S* buffer, bool nesterov) {
  if (buffer == nullptr)
    run<PlainSgd>("sgd_step", stream, args, States<S>{});
  else if (nesterov)
    run<MomentumSgd<true>>("sgd_step", stream, args, States<S>{{buffer}});
  else
    run<MomentumSgd<false>>("sgd_step", stream, args, States<S>{{buffer}});
}

template <class S, class T>
void adam_step(Stream stream, const OptimArgs<S, T>& args, S* mean, S* square) {
  run<Adam>("adam_step", stream, args, States<S>{{mean, square}});
}

template <class S, class T>
void rmsprop_step(Stream stream, const OptimArgs<S, T>& args, S* square, S* mean, S* buffer) {
  constexpr const char* kName = "rmsprop_step";
  if (mean != nullptr && buffer != nullptr)
    run<RmsProp<true, true>>(kName, stream, args, States<S>{{square, mean, buffer}});
  else if (mean != nullptr)
    run<RmsProp<true, false>>(kName, stream, args, States<S>{{square, mean}});
  else if (buffer != nullptr)
    run<RmsProp<false, true>>(kName, stream, args, States<S>{{square, buffer}});
  else
    run<RmsProp<false, false>>(kName, stream, args, States<S>{{square}});
}

void write_hypers(Stream stream, std::span<const GroupHypers> values, GroupHypers* blocks) {
  for (std::size_t begin = 0; begin < values.size(); begin += kHypersPerLaunch) {
    const auto part =
        values.subspan(begin, std::min<std::size_t>(kHypersPerLaunch, values.size() - begin));
    ManyHypers many;
    std::copy(part.begin(), part.end(), many.value);
    const Grid one = single_block(static_cast<int>(part.size()));
    launch("write_hypers", write_hypers_kernel, one, stream, many, blocks + begin);
  }
}

#define LEARN_INSTANTIATE(S, T)                                     \
  template void sgd_step(Stream, const OptimArgs<S, T>&, S*, bool); \
  template void adam_step(Stream, const OptimArgs<S, T>&, S*, S*);  \
  template void rmsprop_step(Stream, const OptimArgs<S, T>&, S*, S*, S*);
LEARN_INSTANTIATE(float, float)
LEARN_INSTANTIATE(float, Half)
LEARN_INSTANTIATE(float, BFloat16)
LEARN_INSTANTIATE(Half, Half)
LEARN_INSTANTIATE(BFloat16, BFloat16)
#undef LEARN_INSTANTIATE

}  // namespace learn::cuda
