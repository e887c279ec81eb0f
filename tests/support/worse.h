#pragma once
#include <cmath>

namespace learn::test {

/// The larger of two errors, and NaN if one of them is: std::max(0.0, NAN) is 0.
[[nodiscard]] inline double worse(double a, double b) { return b > a || std::isnan(b) ? b : a; }

}  // namespace learn::test
