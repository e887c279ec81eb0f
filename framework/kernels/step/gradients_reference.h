#pragma once
#include "framework/kernels/step/gradients_kernels.h"
#include "framework/kernels/step/step_rules.h"
#include "framework/tensor/convert.h"

#include <cmath>
#include <cstdint>

/// Plain loops in double for every storage type, with one rounding at the end.
namespace learn::reference {

template <class From>
void unscale(Exec, const From* x, float* y, StepControl* control, GradMode mode, std::int64_t n) {
  const auto factor = static_cast<double>(control->inverse_scale);
  for (std::int64_t i = 0; i < n; ++i) {
    const double before = mode == GradMode::accumulate ? static_cast<double>(y[i]) : 0;
    y[i] = static_cast<float>(before + as_double(x[i]) * factor);
    if (!std::isfinite(y[i])) control->found_inf = 1;
  }
}

inline void unscale_in_place(Exec exec, float* x, StepControl* control, std::int64_t n) {
  unscale(exec, x, x, control, GradMode::overwrite, n);
}

template <class T>
void find_non_finite(Exec, const T* x, StepControl* control, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    if (!std::isfinite(as_double(x[i]))) control->found_inf = 1;
}

template <class T>
void clip_by_norm(Exec,
                  std::span<const kernels::Range<T>> ranges,
                  float* norm,
                  float max_norm,
                  StepControl* control) {
  double sum = 0;
  for (const kernels::Range<T>& range : ranges)
    for (std::int64_t i = 0; i < range.size; ++i)
      sum += as_double(range.data[i]) * as_double(range.data[i]);
  *norm = static_cast<float>(std::sqrt(sum));
  if (control != nullptr) step_rules::clip_by_norm(*control, *norm, max_norm);
}

template <class T>
void clip_by_value(Exec, T* x, float limit, const StepControl* control, std::int64_t n) {
  const float own = limit / control->grad_multiplier;
  for (std::int64_t i = 0; i < n; ++i)
    if (const float value = as_float(x[i]); std::fabs(value) > own)
      x[i] = from_float<T>(std::copysign(own, value));
}

}  // namespace learn::reference
