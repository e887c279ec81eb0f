#pragma once
#include "framework/core/dtype.h"
#include "framework/kernels/reduce/reduction.h"
#include "framework/runtime/exec.h"

#include <cstdint>

namespace learn {
namespace kernels {

/// y (outer, inner) of x (outer, count, inner).
struct AxisReduction {
  Reduction reduction;
  const void* x;
  DType x_dtype;
  void* y;
  DType y_dtype;
  std::int64_t outer, count, inner;
  double factor;
};

}  // namespace kernels

namespace cpu {
void reduce_axis(const Exec& exec, const kernels::AxisReduction& r);
}
namespace cuda {
void reduce_axis(const Exec& exec, const kernels::AxisReduction& r);
}

}  // namespace learn
