#pragma once
#include "framework/core/dtype.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/exec.h"

#include <cstdint>

/// Arguments of layer normalization. x, y and their gradients are (rows, columns), mean and rstd
/// (rows), all others (columns). A null pointer marks a result that is not requested. Unless rows
/// are centered, bias is null and mean is 0.
namespace learn::kernels {

template <class T>
struct LayerNormArgs {
  using Wide = WideType<T>;
  std::int64_t rows, columns;
  float eps;
  bool centered;
  const T* x;
  const Wide *weight, *bias;
  T* y;
  Wide *mean, *rstd;
};

template <class T>
struct LayerNormBackwardArgs {
  using Wide = WideType<T>;
  std::int64_t rows, columns;
  bool centered;
  const T *x, *dy;
  const Wide *weight, *mean, *rstd;
  T* dx;
  Wide *dweight, *dbias;
  GradMode dx_mode, dweight_mode, dbias_mode;
};

}  // namespace learn::kernels

LEARN_CPU_AND_CUDA(template <class T>
                   void layer_norm_forward(const Exec& exec, const kernels::LayerNormArgs<T>& args);
                   template <class T>
                   void layer_norm_backward(const Exec& exec,
                                            const kernels::LayerNormBackwardArgs<T>& args);)
