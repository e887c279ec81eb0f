#include "framework/backend/cpu/loss.h"
#include "framework/backend/cpu/vector_math.h"
#include "framework/backend/cpu/vectorize.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cmath>

namespace learn::backend::cpu {
namespace {

/// Samples a thread takes at least: about 16384 elements.
[[nodiscard]] std::int64_t grain_for(std::int64_t classes) {
  return std::max<std::int64_t>(1, 16384 / classes);
}

/// The sum of term(0) ... term(n - 1), in as many partial sums as fill vectors.
template <class Term>
[[nodiscard]] float lane_sum(std::int64_t n, Term term) {
  constexpr std::int64_t kLanes = 16;
  float lanes[kLanes] = {};
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
  for (std::int64_t i = whole; i < n; ++i) lanes[i - whole] += term(i);
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

template <class T>
[[nodiscard]] float largest_of(const T* z, std::int64_t classes) {
  float largest = as_float(z[0]);
  for (std::int64_t c = 1; c < classes; ++c) {
    const float value = as_float(z[c]);
    largest = value > largest ? value : largest;
  }
  return largest;
}

/// The loss and, if `gradient` is not null, its gradient times `factor`, of one sample:
/// loss = sum of weight * (log sum e^s - s), gradient = softmax * (sum of weights) - weight, with
/// s = z - max z.
template <class T, class Weight>
[[nodiscard]] float sample_loss(
    const T* z, std::int64_t classes, Weight weight, float factor, float* gradient) {
  const float largest = largest_of(z, classes);
  const float exponentials =
      lane_sum(classes, [=](std::int64_t c) { return vexp(as_float(z[c]) - largest); });
  const float weights = lane_sum(classes, weight);
  const float log_sum = std::log(exponentials);
  const float loss = lane_sum(classes, [=](std::int64_t c) {
    // A class that is not wanted costs nothing, however impossible it is.
    return weight(c) == 0 ? 0.0F : weight(c) * (log_sum - (as_float(z[c]) - largest));
  });
  if (gradient != nullptr) {
    const float scale = weights / exponentials;
    for (std::int64_t c = 0; c < classes; ++c)
      gradient[c] = (vexp(as_float(z[c]) - largest) * scale - weight(c)) * factor;
  }
  return loss;
}

}  // namespace

template <class T>
void softmax_cross_entropy(ThreadPool& threads,
                           const T* logits,
                           const CrossEntropyTarget<float>& target,
                           float* sample_losses,
                           float* loss,
                           float* gradient) {
  const std::int64_t classes = target.classes;
  const float keep = 1 - target.smoothing;
  const float share = target.smoothing / static_cast<float>(classes);
  const float factor = 1.0F / static_cast<float>(target.samples);
  simd::parallel_for(
      threads, target.samples, grain_for(classes), [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) {
          const T* z = logits + n * classes;
          float* dz = gradient == nullptr ? nullptr : gradient + n * classes;
          if (target.labels != nullptr) {
            const std::int64_t label = target.labels[n];
            const auto weight = [=](std::int64_t c) { return c == label ? keep + share : share; };
            sample_losses[n] = sample_loss(z, classes, weight, factor, dz);
          } else {
            const float* given = target.weights + n * classes;
            const auto weight = [=](std::int64_t c) { return keep * given[c] + share; };
            sample_losses[n] = sample_loss(z, classes, weight, factor, dz);
          }
        }
      });
  double total = 0;
  for (std::int64_t n = 0; n < target.samples; ++n) total += static_cast<double>(sample_losses[n]);
  *loss = static_cast<float>(total / static_cast<double>(target.samples));
}

template <class T>
void softmax_cross_entropy_backward(ThreadPool& threads,
                                    const float* gradient,
                                    std::int64_t n,
                                    const float* dloss,
                                    T* dx,
                                    GradMode mode) {
  const float factor = *dloss;
  simd::parallel_for(threads, n, grain_for(1), [=](std::int64_t begin, std::int64_t end) {
    if (mode == GradMode::overwrite) {
      LEARN_VECTORIZE
      for (std::int64_t i = begin; i < end; ++i) dx[i] = from_float<T>(gradient[i] * factor);
    } else {
      LEARN_VECTORIZE
      for (std::int64_t i = begin; i < end; ++i)
        dx[i] = from_float<T>(as_float(dx[i]) + gradient[i] * factor);
    }
  });
}

template <class T>
void softmax(ThreadPool& threads,
             const T* logits,
             std::int64_t samples,
             std::int64_t classes,
             float* probabilities) {
  simd::parallel_for(
      threads, samples, grain_for(classes), [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) {
          const T* z = logits + n * classes;
          float* p = probabilities + n * classes;
          const float largest = largest_of(z, classes);
          for (std::int64_t c = 0; c < classes; ++c) p[c] = vexp(as_float(z[c]) - largest);
          const float factor = 1 / lane_sum(classes, [=](std::int64_t c) { return p[c]; });
          for (std::int64_t c = 0; c < classes; ++c) p[c] *= factor;
        }
      });
}

#define LEARN_INSTANTIATE(T)                                                            \
  template void softmax_cross_entropy(                                                  \
      ThreadPool&, const T*, const CrossEntropyTarget<float>&, float*, float*, float*); \
  template void softmax_cross_entropy_backward(                                         \
      ThreadPool&, const float*, std::int64_t, const float*, T*, GradMode);             \
  template void softmax(ThreadPool&, const T*, std::int64_t, std::int64_t, float*);
LEARN_INSTANTIATE(float)
LEARN_INSTANTIATE(Half)
LEARN_INSTANTIATE(BFloat16)
#undef LEARN_INSTANTIATE

}  // namespace learn::backend::cpu
