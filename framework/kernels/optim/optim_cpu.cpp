#include "framework/core/round_up.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/optim/optim_kernels.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace learn::cpu {

using kernels::OptimArgs;

namespace {

// Chunks are whole blocks, so that the same vector code computes every element wherever a run
// starts. The result is then identical, bit for bit, whether a group is updated as one run or
// parameter by parameter.
constexpr std::int64_t kBlock = 64;
constexpr std::int64_t kGrain = 8192 / kBlock;  // about 10 microseconds of memory traffic

/// Computes w = update(i, w, g) for every element, with decay before it and the working copy after
/// it. `update` captures by value and is inlined into the vector loop.
template <class S, class T, class Update>
void for_each_weight(ThreadPool& threads, const OptimArgs<S, T>& args, Update update) {
  if (args.control->found_inf != 0) return;
  const GroupHypers& h = *args.hypers;
  // Both kinds of decay are computed without a branch; one of the two factors has no effect.
  const float keep = args.decoupled ? 1 - h.lr * h.weight_decay : 1;
  const float coupled = args.decoupled ? 0 : h.weight_decay;
  const float multiplier = args.control->grad_multiplier;
  S* const weight = args.weight;
  const S* const grad = args.grad;
  T* const half = args.half;
  const std::int64_t n = args.n;
  const std::int64_t blocks = ceil_div(n, kBlock);
  simd::parallel_for(threads, blocks, kGrain, [=](std::int64_t first, std::int64_t last) {
    const std::int64_t end = std::min(last * kBlock, n);
    LEARN_VECTORIZE
    for (std::int64_t i = first * kBlock; i < end; ++i) {
      const float w = as_float(weight[i]);
      const float g = as_float(grad[i]) * multiplier + coupled * w;
      const float updated = update(i, w * keep, g);
      weight[i] = from_float<S>(updated);
      if constexpr (!std::is_same_v<T, S>) half[i] = from_float<T>(updated);
    }
  });
}

std::int64_t step_number(const auto& args) { return args.control->step - args.missed_steps + 1; }

}  // namespace

template <class S, class T>
void sgd_step(ThreadPool& threads, const OptimArgs<S, T>& args, S* buffer, bool nesterov) {
  const float lr = args.hypers->lr;
  if (buffer == nullptr)
    return for_each_weight(
        threads, args, [=](std::int64_t, float w, float g) { return w - lr * g; });
  const bool first = step_number(args) == 1;
  const float momentum = args.hypers->momentum;
  const float buffer_weight = first ? 0 : momentum;
  const float grad_weight = first ? 1 : 1 - args.hypers->dampening;
  if (nesterov)
    return for_each_weight(threads, args, [=](std::int64_t i, float w, float g) {
      const float b = buffer_weight * as_float(buffer[i]) + grad_weight * g;
      buffer[i] = from_float<S>(b);
      return w - lr * (g + momentum * b);
    });
  for_each_weight(threads, args, [=](std::int64_t i, float w, float g) {
    const float b = buffer_weight * as_float(buffer[i]) + grad_weight * g;
    buffer[i] = from_float<S>(b);
    return w - lr * b;
  });
}

template <class S, class T>
void adam_step(ThreadPool& threads, const OptimArgs<S, T>& args, S* mean, S* square) {
  const GroupHypers& h = *args.hypers;
  const auto t = static_cast<double>(step_number(args));
  const double beta1 = h.momentum;
  const double beta2 = h.beta2;
  const auto beta1_f = h.momentum;
  const auto beta2_f = h.beta2;
  const auto one_minus_beta1 = static_cast<float>(1 - beta1);
  const auto one_minus_beta2 = static_cast<float>(1 - beta2);
  const auto step = static_cast<float>(static_cast<double>(h.lr) / (1 - std::pow(beta1, t)));
  const auto inv_sqrt_correction2 = static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, t)));
  const float eps = h.eps;
  for_each_weight(threads, args, [=](std::int64_t i, float w, float g) {
    const float m = beta1_f * as_float(mean[i]) + one_minus_beta1 * g;
    const float v = beta2_f * as_float(square[i]) + one_minus_beta2 * g * g;
    mean[i] = from_float<S>(m);
    square[i] = from_float<S>(v);
    return w - step * m / (std::sqrt(v) * inv_sqrt_correction2 + eps);
  });
}

template <class S, class T>
void rmsprop_step(ThreadPool& threads, const OptimArgs<S, T>& args, S* square, S* mean, S* buffer) {
  const GroupHypers& h = *args.hypers;
  const float alpha = h.beta2;
  const auto one_minus_alpha = static_cast<float>(1 - static_cast<double>(h.beta2));
  const float eps = h.eps;
  const float lr = h.lr;
  const float momentum = h.momentum;
  // Four variants, so that absent state causes no memory traffic.
  const auto run = [&](auto centered, auto buffered) {
    for_each_weight(threads, args, [=](std::int64_t i, float w, float g) {
      float v = alpha * as_float(square[i]) + one_minus_alpha * g * g;
      square[i] = from_float<S>(v);
      if constexpr (centered) {
        const float a = alpha * as_float(mean[i]) + one_minus_alpha * g;
        mean[i] = from_float<S>(a);
        const float centered_v = v - a * a;
        v = centered_v > 0 ? centered_v : 0;  // rounding can make it negative
      }
      float direction = g / (std::sqrt(v) + eps);
      if constexpr (buffered) {
        direction += momentum * as_float(buffer[i]);
        buffer[i] = from_float<S>(direction);
      }
      return w - lr * direction;
    });
  };
  const auto choose_buffer = [&](auto centered) {
    if (buffer != nullptr)
      run(centered, std::true_type{});
    else
      run(centered, std::false_type{});
  };
  if (mean != nullptr)
    choose_buffer(std::true_type{});
  else
    choose_buffer(std::false_type{});
}

#define LEARN_INSTANTIATE(S, T)                                          \
  template void sgd_step(ThreadPool&, const OptimArgs<S, T>&, S*, bool); \
  template void adam_step(ThreadPool&, const OptimArgs<S, T>&, S*, S*);  \
  template void rmsprop_step(ThreadPool&, const OptimArgs<S, T>&, S*, S*, S*);
LEARN_INSTANTIATE(float, float)
LEARN_INSTANTIATE(float, Half)
LEARN_INSTANTIATE(float, BFloat16)
LEARN_INSTANTIATE(Half, Half)
LEARN_INSTANTIATE(BFloat16, BFloat16)
#undef LEARN_INSTANTIATE

}  // namespace learn::cpu
