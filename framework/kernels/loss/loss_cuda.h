#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/cuda/fault.h"
#include "framework/runtime/cuda/stream.h"

#include <cstdint>

/// The CUDA twins of the losses: f32, f16, bf16, computed and summed in f32. Device pointers;
/// enqueue only.
namespace learn::cuda {

/// What softmax cross-entropy is told: logits (samples, classes); one of `labels` (samples) and
/// `weights` (samples, classes) is not null.
struct CrossEntropyTarget {
  std::int64_t samples, classes;
  const std::int64_t* labels;
  const float* weights;
  float smoothing;
};

/// `sample_losses` (samples) is scratch memory; `gradient` (samples, classes) may be null. A class
/// out of range is noted in `fault`, and makes the loss and its row of the gradient NaN.
template <class T>
void softmax_cross_entropy(Stream stream,
                           const T* logits,
                           const CrossEntropyTarget& target,
                           float* sample_losses,
                           float* loss,
                           float* gradient,
                           Fault* fault);
template <class T>
void softmax_cross_entropy_backward(
    Stream stream, const float* gradient, std::int64_t n, const float* dloss, T* dx, GradMode mode);
template <class T>
void softmax(Stream stream,
             const T* logits,
             std::int64_t samples,
             std::int64_t classes,
             float* probabilities);

/// Floats of scratch memory that `mse_forward` needs.
[[nodiscard]] std::int64_t mse_workspace(std::int64_t n);
template <class T, class U>
void mse_forward(
    Stream stream, const T* pred, const U* target, std::int64_t n, float* workspace, float* loss);
template <class T, class U>
void mse_backward(Stream stream,
                  const T* pred,
                  const U* target,
                  std::int64_t n,
                  const float* dloss,
                  T* dpred,
                  GradMode mode);

}  // namespace learn::cuda
