#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/exec.h"
#include "framework/tensor/convert.h"

#include <cstdint>
#include <vector>

namespace learn::reference {

/// Computes to (+)= sums.
template <class T>
void round_sums(const std::vector<double>& sums, T* to, GradMode mode) {
  for (std::size_t i = 0; i < sums.size(); ++i)
    to[i] = from_double<T>(sums[i] + (mode == GradMode::accumulate ? as_double(to[i]) : 0));
}

/// Sums dy (rows,k) over rows.
template <class T>
void bias_backward(Exec, const T* dy, std::int64_t rows, std::int64_t k, T* db, GradMode mode) {
  std::vector<double> sums(static_cast<std::size_t>(k));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < k; ++j)
      sums[static_cast<std::size_t>(j)] += as_double(dy[i * k + j]);
  round_sums(sums, db, mode);
}

}  // namespace learn::reference
