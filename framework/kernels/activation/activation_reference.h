#pragma once
#include "framework/kernels/common/activation_reference.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/exec.h"
#include "framework/tensor/convert.h"

#include <cstdint>

/// Plain loops in double for every storage type, with one rounding at the end.
namespace learn::reference {

template <class T>
void activation_forward(Exec, const ActivationKind& kind, const T* x, T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = from_double<T>(activate(kind, as_double(x[i])));
}

template <class T>
void activation_backward(Exec,
                         const ActivationKind& kind,
                         const T* x,
                         const T* dy,
                         T* dx,
                         GradMode mode,
                         std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double before = mode == GradMode::accumulate ? as_double(dx[i]) : 0;
    dx[i] = from_double<T>(before + as_double(dy[i]) * activation_slope(kind, as_double(x[i])));
  }
}

}  // namespace learn::reference
