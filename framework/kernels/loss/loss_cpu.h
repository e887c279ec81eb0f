#pragma once
#include "framework/core/thread_pool.h"
#include "framework/kernels/common/grad_mode.h"

#include <cstdint>

/// The fast CPU twins of the losses: f32, f16, bf16, computed in f32, summed in f64.
namespace learn::cpu {

/// What softmax cross-entropy is told: logits (samples, classes); one of `labels` (samples) and
/// `weights` (samples, classes) is not null.
template <class Wide>
struct CrossEntropyTarget {
  std::int64_t samples, classes;
  const std::int64_t* labels;
  const Wide* weights;
  float smoothing;
};

/// `sample_loss` (samples) is scratch memory; `gradient` (samples, classes) may be null.
template <class T>
void softmax_cross_entropy(ThreadPool& threads,
                           const T* logits,
                           const CrossEntropyTarget<float>& target,
                           float* sample_loss,
                           float* loss,
                           float* gradient);
template <class T>
void softmax(ThreadPool& threads,
             const T* logits,
             std::int64_t samples,
             std::int64_t classes,
             float* probabilities);

/// `partial` holds `mse_partials(n)` numbers of scratch memory.
[[nodiscard]] std::int64_t mse_partials(std::int64_t n);
template <class T, class U>
void mse_forward(ThreadPool& threads,
                 const T* pred,
                 const U* target,
                 std::int64_t n,
                 float* partial,
                 float* loss);
template <class T, class U>
void mse_backward(ThreadPool& threads,
                  const T* pred,
                  const U* target,
                  std::int64_t n,
                  const float* dloss,
                  T* dpred,
                  GradMode mode);
template <class T>
void softmax_cross_entropy_backward(ThreadPool& threads,
                                    const float* gradient,
                                    std::int64_t n,
                                    const float* dloss,
                                    T* dx,
                                    GradMode mode);

}  // namespace learn::cpu
