#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

/// The oracle: plain loops in double, whatever the storage type, rounded once at the end.
namespace learn::cpu::reference {

/// y (+)= x * factor; true if every result is finite. `y` may be `x`.
template <class From>
[[nodiscard]] bool scale_to_f32(
    const From* x, float factor, float* y, GradMode mode, std::int64_t n) {
  bool finite = true;
  for (std::int64_t i = 0; i < n; ++i) {
    const double before = mode == GradMode::accumulate ? static_cast<double>(y[i]) : 0;
    y[i] = static_cast<float>(before + as_double(x[i]) * static_cast<double>(factor));
    finite = finite && std::isfinite(y[i]);
  }
  return finite;
}

template <class T>
[[nodiscard]] bool all_finite(const T* x, std::int64_t n) {
  return std::all_of(x, x + n, [](T v) { return std::isfinite(as_double(v)); });
}

[[nodiscard]] inline double sum_of_squares(const float* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

inline void clamp(float* x, float limit, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    if (std::fabs(x[i]) > limit) x[i] = std::copysign(limit, x[i]);
}

}  // namespace learn::cpu::reference
