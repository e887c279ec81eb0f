#include "framework/core/function_ref.h"
#include "framework/kernels/common/cpu/lane_sum.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/common/cpu/vector_math.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/loss/loss_kernels.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <vector>

namespace learn::cpu {

using kernels::CrossEntropyTarget;

namespace {

/// Returns the minimum number of samples per thread: about 16384 elements.
[[nodiscard]] std::int64_t grain_for(std::int64_t classes) {
  return std::max<std::int64_t>(1, 16384 / classes);
}

[[nodiscard]] inline float largest_of(const float* z, std::int64_t classes) {
  constexpr std::int64_t kLanes = 16;
  float lanes[kLanes];
  for (float& lane : lanes) lane = z[0];
  const std::int64_t whole = classes / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes)
    for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] = Greater()(z[i + j], lanes[j]);
  for (std::int64_t i = whole; i < classes; ++i)
    lanes[i - whole] = Greater()(z[i], lanes[i - whole]);
  return join_lanes<kLanes>(lanes, Greater());
}

/// Returns the loss of one sample and, if `gradient` is not null, computes its gradient times
/// `factor`: loss = sum of weight * (log sum e^s - s), gradient = softmax * (sum of weights) -
/// weight, with s = z - max z. If all but one class have weight 0, `only` is that class, of weight
/// 1; otherwise it is negative.
template <class Weight>
[[nodiscard]] float sample_loss(const float* z,
                                std::int64_t classes,
                                Weight weight,
                                std::int64_t only,
                                float factor,
                                float* gradient) {
  const float largest = largest_of(z, classes);
  const float exponentials =
      lane_sum(classes, [=](std::int64_t c) { return vexp(z[c] - largest); });
  const float log_sum = std::log(exponentials);
  float weights = 1;
  float loss = 0;
  if (only >= 0) {
    loss = log_sum - (z[only] - largest);
  } else {
    weights = lane_sum(classes, weight);
    loss = lane_sum(classes, [=](std::int64_t c) {
      // A class of weight 0 costs nothing, even if its log-probability is -infinity.
      return weight(c) == 0 ? 0.0F : weight(c) * (log_sum - (z[c] - largest));
    });
  }
  if (gradient != nullptr) {
    const float scale = weights / exponentials;
    for (std::int64_t c = 0; c < classes; ++c)
      gradient[c] = (vexp(z[c] - largest) * scale - weight(c)) * factor;
  }
  return loss;
}

/// Writes the losses and gradients of samples [first, last). `z` points to their logits.
void losses_of(const float* z,
               const CrossEntropyTarget<float>& target,
               std::int64_t first,
               std::int64_t last,
               float* sample_losses,
               float* gradient) {
  const std::int64_t classes = target.classes;
  const float keep = 1 - target.smoothing;
  const float share = target.smoothing / static_cast<float>(classes);
  const float factor = 1.0F / static_cast<float>(target.samples);
  simd::run([=, labels = target.labels, weights = target.weights] {
    for (std::int64_t n = first; n < last; ++n) {
      const float* row = z + (n - first) * classes;
      float* dz = gradient == nullptr ? nullptr : gradient + n * classes;
      if (labels != nullptr) {
        const std::int64_t label = labels[n];
        const auto weight = [=](std::int64_t c) { return c == label ? keep + share : share; };
        sample_losses[n] = sample_loss(row, classes, weight, share == 0 ? label : -1, factor, dz);
      } else {
        const float* given = weights + n * classes;
        const auto weight = [=](std::int64_t c) { return keep * given[c] + share; };
        sample_losses[n] = sample_loss(row, classes, weight, -1, factor, dz);
      }
    }
  });
}

/// Writes the probabilities of samples [first, last) from their logits.
void probabilities_of(const float* z,
                      std::int64_t classes,
                      std::int64_t first,
                      std::int64_t last,
                      float* probabilities) {
  simd::run([=] {
    for (std::int64_t n = first; n < last; ++n) {
      const float* row = z + (n - first) * classes;
      float* p = probabilities + n * classes;
      const float largest = largest_of(row, classes);
      for (std::int64_t c = 0; c < classes; ++c) p[c] = vexp(row[c] - largest);
      const float factor = 1 / lane_sum(classes, [=](std::int64_t c) { return p[c]; });
      for (std::int64_t c = 0; c < classes; ++c) p[c] *= factor;
    }
  });
}

/// Writes the logarithms of the probabilities of samples [first, last) from their logits.
void logarithms_of(const float* z,
                   std::int64_t classes,
                   std::int64_t first,
                   std::int64_t last,
                   float* logarithms) {
  simd::run([=] {
    for (std::int64_t n = first; n < last; ++n) {
      const float* row = z + (n - first) * classes;
      float* log = logarithms + n * classes;
      const float largest = largest_of(row, classes);
      const float log_sum =
          std::log(lane_sum(classes, [=](std::int64_t c) { return vexp(row[c] - largest); }));
      LEARN_VECTORIZE
      for (std::int64_t c = 0; c < classes; ++c) log[c] = row[c] - largest - log_sum;
    }
  });
}

/// Computes dx[c] (+)= value(c) for the classes of a sample.
template <class T, class Value>
void write_row(T* dx, std::int64_t classes, GradMode mode, Value value) {
  if (mode == GradMode::overwrite) {
    LEARN_VECTORIZE
    for (std::int64_t c = 0; c < classes; ++c) dx[c] = from_float<T>(value(c));
  } else {
    LEARN_VECTORIZE
    for (std::int64_t c = 0; c < classes; ++c) dx[c] = from_float<T>(as_float(dx[c]) + value(c));
  }
}

/// Calls `body(z, first, last)` for blocks of samples, with their logits as f32. Halves are
/// converted block by block, so that everything else is computed, and compiled, only in f32.
template <class T>
void for_samples(ThreadPool& threads,
                 const T* logits,
                 std::int64_t samples,
                 std::int64_t classes,
                 FunctionRef<void(const float*, std::int64_t, std::int64_t)> body) {
  const std::int64_t grain = grain_for(classes);
  threads.parallel_for(samples, grain, [=](std::int64_t begin, std::int64_t end) {
    if constexpr (std::same_as<T, float>) {
      body(logits + begin * classes, begin, end);
    } else {
      std::vector<float> block(static_cast<std::size_t>(std::min(grain, end - begin) * classes));
      for (std::int64_t first = begin; first < end; first += grain) {
        const std::int64_t last = std::min(first + grain, end);
        const T* z = logits + first * classes;
        simd::run([z, wide = block.data(), n = (last - first) * classes] {
          for (std::int64_t i = 0; i < n; ++i) wide[i] = as_float(z[i]);
        });
        body(block.data(), first, last);
      }
    }
  });
}

}  // namespace

template <class T>
void softmax_cross_entropy(const Exec& exec,
                           const T* logits,
                           const CrossEntropyTarget<float>& target,
                           float* loss,
                           float* gradient) {
  const FloatWorkspace workspace(exec.workspace, target.samples);
  float* const sample_losses = workspace.data();
  for_samples(exec.threads,
              logits,
              target.samples,
              target.classes,
              [&](const float* z, std::int64_t first, std::int64_t last) {
                losses_of(z, target, first, last, sample_losses, gradient);
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
  for_samples(threads,
              logits,
              samples,
              classes,
              [=](const float* z, std::int64_t first, std::int64_t last) {
                probabilities_of(z, classes, first, last, probabilities);
              });
}

template <class T>
void log_softmax(ThreadPool& threads,
                 const T* logits,
                 std::int64_t samples,
                 std::int64_t classes,
                 float* logarithms) {
  for_samples(threads,
              logits,
              samples,
              classes,
              [=](const float* z, std::int64_t first, std::int64_t last) {
                logarithms_of(z, classes, first, last, logarithms);
              });
}

template <class T>
void softmax_backward(ThreadPool& threads,
                      kernels::SoftmaxForm form,
                      const T* y,
                      const T* dy,
                      std::int64_t samples,
                      std::int64_t classes,
                      T* dx,
                      GradMode mode) {
  simd::parallel_for(
      threads, samples, grain_for(classes), [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) {
          const T* own = y + n * classes;
          const T* slope = dy + n * classes;
          T* to = dx + n * classes;
          if (form == kernels::SoftmaxForm::logarithms) {
            const float total =
                lane_sum(classes, [=](std::int64_t c) { return as_float(slope[c]); });
            write_row(to, classes, mode, [=](std::int64_t c) {
              return as_float(slope[c]) - vexp(as_float(own[c])) * total;
            });
          } else {
            const float total = lane_sum(
                classes, [=](std::int64_t c) { return as_float(own[c]) * as_float(slope[c]); });
            write_row(to, classes, mode, [=](std::int64_t c) {
              return as_float(own[c]) * (as_float(slope[c]) - total);
            });
          }
        }
      });
}

#define LEARN_INSTANTIATE(T)                                                            \
  template void softmax_cross_entropy(                                                  \
      const Exec&, const T*, const CrossEntropyTarget<float>&, float*, float*);         \
  template void softmax_cross_entropy_backward(                                         \
      ThreadPool&, const float*, std::int64_t, const float*, T*, GradMode);             \
  template void softmax(ThreadPool&, const T*, std::int64_t, std::int64_t, float*);     \
  template void log_softmax(ThreadPool&, const T*, std::int64_t, std::int64_t, float*); \
  template void softmax_backward(ThreadPool&,                                           \
                                 kernels::SoftmaxForm,                                  \
                                 const T*,                                              \
                                 const T*,                                              \
                                 std::int64_t,                                          \
                                 std::int64_t,                                          \
                                 T*,                                                    \
                                 GradMode);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cpu
