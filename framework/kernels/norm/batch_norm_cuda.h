#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/norm/batch_norm_options.h"
#include "framework/runtime/cuda/stream.h"

#include <cstdint>

/// The CUDA twin: f32, f16, bf16; statistics and arithmetic in f32. Device pointers; enqueues only.
/// x, y, residual and their gradients are (rows, channels); all else is (channels) of f32. A null
/// pointer means: there is none, or it is not wanted.
namespace learn::cuda {

/// Floats of scratch memory that `batch_norm_statistics` and `batch_norm_backward` need.
[[nodiscard]] std::int64_t batch_norm_workspace(std::int64_t rows, std::int64_t channels);

template <class T>
struct BatchNormStatisticsArgs {
  std::int64_t rows, channels;
  float eps, momentum;
  const T* x;
  float *running_mean, *running_var;  ///< updated
  float *mean, *rstd;                 ///< written
  float* workspace = nullptr;
};
/// Mean and variance of each channel, blocks of rows being joined by Chan, Golub and LeVeque's
/// formula (1979).
template <class T>
void batch_norm_statistics(Stream stream, const BatchNormStatisticsArgs<T>& args);

/// What evaluation normalises with.
void batch_norm_running_statistics(Stream stream,
                                   const float* running_mean,
                                   const float* running_var,
                                   float eps,
                                   float* mean,
                                   float* rstd,
                                   std::int64_t channels);

template <class T>
struct BatchNormApplyArgs {
  std::int64_t rows, channels;
  ActivationKind activation;
  bool residual_before_activation;
  const T *x, *residual;
  const float *weight, *bias, *mean, *rstd;
  T* y;
};
template <class T>
void batch_norm_apply(Stream stream, const BatchNormApplyArgs<T>& args);

template <class T>
struct BatchNormBackwardArgs {
  std::int64_t rows, channels;
  ActivationKind activation;
  bool residual_before_activation;
  bool batch_statistics;  ///< mean and rstd depend on x
  const T *x, *residual, *dy;
  const float *weight, *bias, *mean, *rstd;
  T *dx, *dresidual;  ///< may be the same memory: dx is written first
  float *dweight, *dbias;
  GradMode dx_mode, dresidual_mode, dweight_mode, dbias_mode;
  float* workspace = nullptr;
};
template <class T>
void batch_norm_backward(Stream stream, const BatchNormBackwardArgs<T>& args);

}  // namespace learn::cuda
