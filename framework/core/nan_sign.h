#pragma once
#include <cmath>
#include <limits>

namespace learn {

/// Removes the sign of a NaN, so that it is not printed as "-nan".
[[nodiscard]] inline double without_nan_sign(double value) noexcept {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

}  // namespace learn
