#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/loss/softmax_form.h"
#include "framework/runtime/exec.h"

#include <cstdint>

namespace learn::kernels {

/// The target of softmax cross-entropy for logits (samples, classes). One of `labels` (samples) and
/// `weights` (samples, classes) is not null.
template <class Wide>
struct CrossEntropyTarget {
  std::int64_t samples, classes;
  const std::int64_t* labels;
  const Wide* weights;
  float smoothing;
};

}  // namespace learn::kernels

/// Summed in f64 on the CPU, in f32 by CUDA.
LEARN_CPU_AND_CUDA(  /// `gradient` (samples, classes) may be null. CUDA records a class out of
                     /// range as a fault and sets the loss and its row of the gradient to NaN.
    template <class T> void softmax_cross_entropy(const Exec& exec,
                                                  const T* logits,
                                                  const kernels::CrossEntropyTarget<float>& target,
                                                  float* loss,
                                                  float* gradient);
    template <class T>
    void softmax(Worker worker,
                 const T* logits,
                 std::int64_t samples,
                 std::int64_t classes,
                 float* probabilities);
    template <class T>
    void log_softmax(Worker worker,
                     const T* logits,
                     std::int64_t samples,
                     std::int64_t classes,
                     float* logarithms);
    template <class T>
    void softmax_backward(Worker worker,
                          kernels::SoftmaxForm form,
                          const T* y,
                          const T* dy,
                          std::int64_t samples,
                          std::int64_t classes,
                          T* dx,
                          GradMode mode);
    template <class T, class U>
    void mse_forward(const Exec& exec, const T* pred, const U* target, std::int64_t n, float* loss);
    template <class T, class U>
    void mse_backward(Worker worker,
                      const T* pred,
                      const U* target,
                      std::int64_t n,
                      const float* dloss,
                      T* dpred,
                      GradMode mode);
    template <class T>
    void softmax_cross_entropy_backward(Worker worker,
                                        const float* gradient,
                                        std::int64_t n,
                                        const float* dloss,
                                        T* dx,
                                        GradMode mode);)
