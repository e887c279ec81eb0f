#pragma once
#include <cmath>
#include <limits>

namespace learn {

/// The same number, but that a NaN has no sign, which its text would show: "-nan" tells nobody
/// more.
[[nodiscard]] inline double without_nan_sign(double value) noexcept {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

}  // namespace learn
