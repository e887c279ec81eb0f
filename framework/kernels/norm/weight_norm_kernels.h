#pragma once
#include "framework/core/dtype.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/exec.h"

#include <cstdint>

/// Arguments of weight normalization. v, w and their gradients are (rows, columns); all others are
/// (rows).
namespace learn::kernels {

template <class T>
struct WeightNormArgs {
  using Wide = WideType<T>;
  std::int64_t rows, columns;
  const T* v;
  const Wide* g;
  T* w;
  Wide* norms;
};

template <class T>
struct WeightNormBackwardArgs {
  using Wide = WideType<T>;
  std::int64_t rows, columns;
  const T *v, *dw;
  const Wide *g, *norms;
  T* dv;     ///< null: not computed
  Wide* dg;  ///< null: not computed
  GradMode dv_mode, dg_mode;
};

}  // namespace learn::kernels

LEARN_CPU_AND_CUDA(template <class T>
                   void weight_norm_forward(const Exec& exec,
                                            const kernels::WeightNormArgs<T>& args);
                   template <class T>
                   void weight_norm_backward(const Exec& exec,
                                             const kernels::WeightNormBackwardArgs<T>& args);)
