// Softmax and its cross-entropy over (samples, classes). A warp per sample makes three sweeps over
// its row, which is in the cache after the first.
//
//   loss = mean over samples of  sum_c weight_c * (log sum_k e^s_k - s_c),  s = z - max z
//   gradient = (softmax * sum of weights - weight) / samples
//
// 1. cross_entropy_kernel   reads the logits, writes a loss per sample [and the gradient]
// 2. reduce_partials        one block: the mean
#include "framework/core/dtype.h"
#include "framework/kernels/common/cuda/device/warp.cuh"
#include "framework/kernels/common/cuda/map.cuh"
#include "framework/kernels/common/cuda/sum.cuh"
#include "framework/kernels/loss/loss_kernels.h"
#include "framework/runtime/cuda/fault.cuh"

namespace learn::cuda {

using CrossEntropyTarget = kernels::CrossEntropyTarget<float>;

namespace {

constexpr int kRowThreads = 128;  // a warp per sample, four samples per block

/// The largest logit of a sample and the sum of exp(logit - largest). Each lane gets both.
struct Exponentials {
  float largest, sum;

  template <class T>
  __device__ Exponentials(const T* z, std::int64_t classes) {
    largest = -INFINITY;
    for (std::int64_t c = device::lane_index(); c < classes; c += 32)
      largest = fmaxf(largest, device::load(z[c]));
    largest = device::warp_max(largest);
    sum = 0;
    for (std::int64_t c = device::lane_index(); c < classes; c += 32)
      sum += expf(device::load(z[c]) - largest);
    sum = device::warp_sum(sum);
  }
};

/// The weight of class c for one sample, after smoothing.
struct SampleWeights {
  const float* given;  ///< null: the whole weight is on `label`
  std::int64_t label;
  float keep, share;

  __device__ float operator()(std::int64_t c) const {
    if (given != nullptr) return keep * given[c] + share;
    return c == label ? keep + share : share;
  }
};

/// Computes loss = sum of weight * (log sum e^s - s) and gradient = (softmax * sum of weights -
/// weight) / samples, with s = z - max z.
template <class T>
__global__ void cross_entropy_kernel(const T* logits,
                                     CrossEntropyTarget target,
                                     float* sample_losses,
                                     float* gradient,
                                     Fault* fault) {
  const std::int64_t sample = device::thread_index() / 32;
  if (sample >= target.samples) return;  // whole warps only
  const std::int64_t classes = target.classes;
  const T* z = logits + sample * classes;
  const float class_share = target.smoothing / static_cast<float>(classes);
  SampleWeights weight{nullptr, 0, 1.0F - target.smoothing, class_share};
  bool valid = true;
  if (target.labels != nullptr) {
    weight.label = target.labels[sample];
    valid = weight.label >= 0 && weight.label < classes;
    if (!valid && device::lane_index() == 0) note_fault(fault, sample, weight.label, classes);
  } else {
    weight.given = target.weights + sample * classes;
  }

  const Exponentials e(z, classes);
  const float log_sum = logf(e.sum);
  float weights = 0;
  float loss = 0;
  for (std::int64_t c = device::lane_index(); c < classes; c += 32) {
    const float w = weight(c);
    weights += w;
    // A class of weight 0 costs nothing, even if its log-probability is -infinity.
    if (w != 0) loss += w * (log_sum - (device::load(z[c]) - e.largest));
  }
  loss = device::warp_sum(loss);
  if (device::lane_index() == 0) sample_losses[sample] = valid ? loss : NAN;
  if (gradient == nullptr) return;
  weights = device::warp_sum(weights);
  const float scale = valid ? weights / e.sum : NAN;
  const float factor = 1.0F / static_cast<float>(target.samples);
  for (std::int64_t c = device::lane_index(); c < classes; c += 32)
    gradient[sample * classes + c] =
        (expf(device::load(z[c]) - e.largest) * scale - weight(c)) * factor;
}

template <class T>
__global__ void softmax_kernel(const T* logits,
                               std::int64_t samples,
                               std::int64_t classes,
                               float* probabilities) {
  const std::int64_t sample = device::thread_index() / 32;
  if (sample >= samples) return;  // whole warps only
  const T* z = logits + sample * classes;
  const Exponentials e(z, classes);
  for (std::int64_t c = device::lane_index(); c < classes; c += 32)
    probabilities[sample * classes + c] = expf(device::load(z[c]) - e.largest) / e.sum;
}

template <class T>
__global__ void log_softmax_kernel(const T* logits,
                                   std::int64_t samples,
                                   std::int64_t classes,
                                   float* logarithms) {
  const std::int64_t sample = device::thread_index() / 32;
  if (sample >= samples) return;  // whole warps only
  const T* z = logits + sample * classes;
  const Exponentials e(z, classes);
  const float log_sum = logf(e.sum);
  for (std::int64_t c = device::lane_index(); c < classes; c += 32)
    logarithms[sample * classes + c] = device::load(z[c]) - e.largest - log_sum;
}

template <class T>
__global__ void softmax_backward_kernel(bool logarithms,
                                        const T* y,
                                        const T* dy,
                                        std::int64_t samples,
                                        std::int64_t classes,
                                        T* dx,
                                        GradMode mode) {
  const std::int64_t sample = device::thread_index() / 32;
  if (sample >= samples) return;  // whole warps only
  const std::int64_t begin = sample * classes + device::lane_index();
  const std::int64_t end = (sample + 1) * classes;
  float total = 0;
  for (std::int64_t i = begin; i < end; i += 32)
    total += logarithms ? device::load(dy[i]) : device::load(y[i]) * device::load(dy[i]);
  total = device::warp_sum(total);
  for (std::int64_t i = begin; i < end; i += 32) {
    const float value = device::load(y[i]);
    const float slope = device::load(dy[i]);
    float result = logarithms ? slope - expf(value) * total : value * (slope - total);
    if (mode == GradMode::accumulate) result += device::load(dx[i]);
    dx[i] = device::store<T>(result);
  }
}

struct TimesSeed {
  const float* seed;
  __device__ float operator()(std::int64_t, float gradient) const { return gradient * *seed; }
};

}  // namespace

template <class T>
void softmax_cross_entropy(const Exec& exec,
                           const T* logits,
                           const CrossEntropyTarget& target,
                           float* loss,
                           float* gradient) {
  const FloatWorkspace sample_losses(exec, target.samples);
  launch("softmax_cross_entropy",
         cross_entropy_kernel<T>,
         warp_each(target.samples, kRowThreads),
         exec,
         logits,
         target,
         sample_losses.data(),
         gradient,
         exec.fault(FaultKind::cross_entropy_class));
  reduce_partials(exec,
                  target.samples,
                  sample_losses.data(),
                  ScaleBy{1.0F / static_cast<float>(target.samples)},
                  loss);
}

template <class T>
void softmax_cross_entropy_backward(Stream stream,
                                    const float* gradient,
                                    std::int64_t n,
                                    const float* dloss,
                                    T* dx,
                                    GradMode mode) {
  map("softmax_cross_entropy_backward", stream, mode, n, TimesSeed{dloss}, dx, gradient);
}

template <class T>
void softmax(Stream stream,
             const T* logits,
             std::int64_t samples,
             std::int64_t classes,
             float* probabilities) {
  const Grid grid = warp_each(samples, kRowThreads);
  launch("softmax", softmax_kernel<T>, grid, stream, logits, samples, classes, probabilities);
}

template <class T>
void log_softmax(
    Stream stream, const T* logits, std::int64_t samples, std::int64_t classes, float* logarithms) {
  const Grid grid = warp_each(samples, kRowThreads);
  launch("log_softmax", log_softmax_kernel<T>, grid, stream, logits, samples, classes, logarithms);
}

template <class T>
void softmax_backward(Stream stream,
                      kernels::SoftmaxForm form,
                      const T* y,
                      const T* dy,
                      std::int64_t samples,
                      std::int64_t classes,
                      T* dx,
                      GradMode mode) {
  launch("softmax_backward",
         softmax_backward_kernel<T>,
         warp_each(samples, kRowThreads),
         stream,
         form == kernels::SoftmaxForm::logarithms,
         y,
         dy,
         samples,
         classes,
         dx,
         mode);
}

#define LEARN_INSTANTIATE(T)                                                       \
  template void softmax_cross_entropy(                                             \
      const Exec&, const T*, const CrossEntropyTarget&, float*, float*);           \
  template void softmax_cross_entropy_backward(                                    \
      Stream, const float*, std::int64_t, const float*, T*, GradMode);             \
  template void softmax(Stream, const T*, std::int64_t, std::int64_t, float*);     \
  template void log_softmax(Stream, const T*, std::int64_t, std::int64_t, float*); \
  template void softmax_backward(                                                  \
      Stream, kernels::SoftmaxForm, const T*, const T*, std::int64_t, std::int64_t, T*, GradMode);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cuda
