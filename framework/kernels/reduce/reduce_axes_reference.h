#pragma once
#include "framework/kernels/reduce/reduce_axes_kernels.h"
#include "framework/tensor/convert.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace learn::reference {

template <class X, class Y>
void reduce_axis_as(const kernels::AxisReduction& r) {
  using kernels::Reduction;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto* x = static_cast<const X*>(r.x);
  auto* y = static_cast<Y*>(r.y);
  for (std::int64_t i = 0; i < r.outer * r.inner; ++i) {
    double total = r.reduction == Reduction::sum   ? 0
                   : r.reduction == Reduction::max ? -kInfinity
                                                   : kInfinity;
    for (std::int64_t k = 0; k < r.count; ++k) {
      const double value = as_double(x[(i / r.inner * r.count + k) * r.inner + i % r.inner]);
      if (r.reduction == Reduction::sum)
        total += value;
      else if (std::isnan(value) || (r.reduction == Reduction::max ? value > total : value < total))
        total = value;
    }
    y[i] = from_double<Y>(total * (r.reduction == Reduction::sum ? r.factor : 1.0));
  }
}

inline void reduce_axis(Exec, const kernels::AxisReduction& r) {
  visit_floating(r.x_dtype, [&]<class X>() {
    visit_floating(r.y_dtype, [&]<class Y>() { reduce_axis_as<X, Y>(r); });
  });
}

}  // namespace learn::reference
