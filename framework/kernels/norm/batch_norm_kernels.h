#pragma once
#include "framework/core/dtype.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/norm/batch_norm_options.h"
#include "framework/runtime/exec.h"

#include <cstdint>

/// Arguments of batch normalization for every implementation. x, y, residual and their gradients
/// are (rows, channels); all else is (channels). A null pointer means that a tensor is missing or
/// not requested.
namespace learn::kernels {

template <class T>
struct BatchNormStatisticsArgs {
  using Wide = WideType<T>;
  std::int64_t rows, channels;
  float eps, momentum;
  const T* x;
  Wide *running_mean, *running_var;  ///< updated
  Wide *mean, *rstd;                 ///< written
};

template <class T>
struct BatchNormApplyArgs {
  using Wide = WideType<T>;
  std::int64_t rows, channels;
  ActivationKind activation;
  bool residual_before_activation;
  const T *x, *residual;
  const Wide *weight, *bias, *mean, *rstd;
  T* y;
};

template <class T>
struct BatchNormBackwardArgs {
  using Wide = WideType<T>;
  std::int64_t rows, channels;
  ActivationKind activation;
  bool residual_before_activation;
  bool batch_statistics;  ///< mean and rstd depend on x
  const T *x, *residual, *dy;
  const Wide *weight, *bias, *mean, *rstd;
  T *dx, *dresidual;  ///< may be the same memory: dx is written first
  Wide *dweight, *dbias;
  GradMode dx_mode, dresidual_mode, dweight_mode, dbias_mode;
};

}  // namespace learn::kernels

/// `batch_norm_statistics`: mean and variance of each channel, blocks of rows being joined by Chan,
/// Golub and LeVeque's formula (1979). `batch_norm_running_statistics`: what evaluation normalises
/// with.
LEARN_CPU_AND_CUDA(
    template <class T>
    void batch_norm_statistics(const Exec& exec, const kernels::BatchNormStatisticsArgs<T>& args);
    void batch_norm_running_statistics(const Exec& exec,
                                       const float* running_mean,
                                       const float* running_var,
                                       float eps,
                                       float* mean,
                                       float* rstd,
                                       std::int64_t channels);
    template <class T>
    void batch_norm_apply(const Exec& exec, const kernels::BatchNormApplyArgs<T>& args);
    template <class T>
    void batch_norm_backward(const Exec& exec, const kernels::BatchNormBackwardArgs<T>& args);)
