#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/exec.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cstdint>

/// Plain loops in double, with one rounding at the end.
namespace learn::reference {

template <class From, class To>
void cast(Exec, const From* x, To* y, GradMode mode, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double before = mode == GradMode::accumulate ? as_double(y[i]) : 0;
    y[i] = from_double<To>(before + as_double(x[i]));
  }
}

template <class Bits>
void fill(Exec, Bits* x, Bits value, std::int64_t n) {
  std::fill_n(x, n, value);
}

}  // namespace learn::reference
