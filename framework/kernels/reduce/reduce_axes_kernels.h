#pragma once
#include "framework/core/dtype.h"
#include "framework/kernels/reduce/reduction.h"
#include "framework/runtime/exec.h"

#include <cstdint>

namespace learn::kernels {

/// The reduction of x (outer, count, inner) to y (outer, inner).
struct AxisReduction {
  Reduction reduction;
  const void* x;
  DType x_dtype;
  void* y;
  DType y_dtype;
  std::int64_t outer, count, inner;
  double factor;
};

}  // namespace learn::kernels

LEARN_CPU_AND_CUDA(void reduce_axis(const Exec& exec, const kernels::AxisReduction& r);)
