#pragma once
#include "framework/core/dtype.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/norm/batch_norm_options.h"
#include "framework/runtime/exec.h"

#include <cstdint>

/// Arguments of every implementation of batch normalization. x, y, residual and their gradients are
/// (rows, channels); all others are (channels). A null pointer marks an operand that is absent or a
/// result that is not requested.
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

/// The moments of one rank are (2 * channels + 1): the mean of each channel, the sum of squared
/// deviations from it, and the number of rows.
template <class T>
struct BatchNormMomentsArgs {
  std::int64_t rows, channels;  ///< at least one row
  const T* x;
  WideType<T>* moments;  ///< written
};

template <class Wide>
struct BatchNormJoinArgs {
  std::int64_t ranks, channels;
  float eps, momentum;
  const Wide* moments;               ///< (ranks, 2 * channels + 1)
  Wide *running_mean, *running_var;  ///< updated
  Wide *mean, *rstd;                 ///< written
  Wide* rows;                        ///< written: one element, the rows of all ranks
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
  T *dx, *dresidual;  ///< may be the same memory because dx is written first
  Wide *dweight, *dbias;
  GradMode dx_mode, dresidual_mode, dweight_mode, dbias_mode;
};

/// Sums (2, channels) over the rows of a rank: g, the gradient of bn(x), then g * xhat.
template <class Wide>
struct BatchNormRankSumsArgs {
  std::int64_t ranks;
  const Wide* own;   ///< (2, channels)
  const Wide* all;   ///< (ranks, 2, channels)
  const Wide* rows;  ///< one element, the rows of all ranks
};

}  // namespace learn::kernels

/// `batch_norm_statistics` computes mean and variance of each channel and joins blocks of rows by
/// the formula of Chan, Golub and LeVeque (1979). `batch_norm_running_statistics` computes the
/// statistics with which evaluation normalizes.
///
/// Batches that are split between ranks take the same steps with an exchange in between:
/// `batch_norm_moments` and `batch_norm_join_moments` replace `batch_norm_statistics`, and
/// `batch_norm_gradient_sums` and `batch_norm_joined_backward` replace `batch_norm_backward`, whose
/// `batch_statistics` is then false if the rows of this rank are not among the counted ones.
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
    void batch_norm_moments(const Exec& exec, const kernels::BatchNormMomentsArgs<T>& args);
    void batch_norm_join_moments(const Exec& exec, const kernels::BatchNormJoinArgs<float>& args);
    template <class T>
    void batch_norm_apply(const Exec& exec, const kernels::BatchNormApplyArgs<T>& args);
    template <class T>
    void batch_norm_backward(const Exec& exec, const kernels::BatchNormBackwardArgs<T>& args);
    template <class T>
    void batch_norm_gradient_sums(const Exec& exec,
                                  const kernels::BatchNormBackwardArgs<T>& args,
                                  float* sums);
    template <class T>
    void batch_norm_joined_backward(const Exec& exec,
                                    const kernels::BatchNormBackwardArgs<T>& args,
                                    const kernels::BatchNormRankSumsArgs<float>& sums);)
