#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/exec.h"

#include <cstdint>

namespace learn::cpu {

/// `count` products c (+)= a * b of matrices that follow one another in memory: a (rows,depth), or
/// (depth,rows) if it is transposed, b (depth,columns) or (columns,depth), c (rows,columns).
struct SmallProducts {
  std::int64_t count, rows, depth, columns;
  const float* a;
  bool a_transposed;
  const float* b;
  bool b_transposed;
  float* c;
  GradMode mode;
};

/// Computes them and returns true if there are several, and so small that preparing each as a
/// convolution takes longer than the product.
[[nodiscard]] bool multiply_small(const Exec& exec, const SmallProducts& products);

}  // namespace learn::cpu
