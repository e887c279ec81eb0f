#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/norm/batch_norm_options.h"
#include "framework/tensor/convert.h"

#include <cstdint>

/// What both CPU twins are given. x, y, residual and their gradients are (rows, channels); all else
/// is (channels). A null pointer means: there is none, or it is not wanted.
namespace learn::cpu {

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

}  // namespace learn::cpu
