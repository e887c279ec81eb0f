#include "tests/support/compare.h"

#include "framework/tensor/factory.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>

namespace learn {

Comparison all_close(const Tensor& a, const Tensor& b, double relative, double absolute) {
  if (a.shape() != b.shape())
    return {false, fmt::format("shapes differ: {} and {}", a.shape(), b.shape())};
  double worst = -1;
  std::int64_t at = -1;
  std::int64_t bad = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const double x = get(a, i);
    const double y = get(b, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double excess = std::abs(x - y) - (absolute + relative * std::abs(y));
    if (excess <= 0) continue;
    ++bad;
    // A NaN or an infinity against a number is worse than any finite difference.
    const double badness = std::isfinite(excess) ? excess : INFINITY;
    if (badness > worst) {
      worst = badness;
      at = i;
    }
  }
  if (bad == 0) return {true, "equal"};
  return {
      false,
      fmt::format(
          "{} of {} elements of {} differ; worst at {}: {} against {} (relative {}, absolute {})",
          bad,
          a.elements(),
          a.shape(),
          at,
          get(a, at),
          get(b, at),
          relative,
          absolute)};
}

Comparison same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype())
    return {false, fmt::format("{} {} and {} {}", a.dtype(), a.shape(), b.dtype(), b.shape())};
  if (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0) return {true, "same bits"};
  for (std::int64_t i = 0; i < a.elements(); ++i)
    if (std::memcmp(a.raw() + static_cast<std::size_t>(i) * size_of(a.dtype()),
                    b.raw() + static_cast<std::size_t>(i) * size_of(b.dtype()),
                    size_of(a.dtype())) != 0)
      return {false, fmt::format("first difference at {}: {} against {}", i, get(a, i), get(b, i))};
  return {true, "same bits"};
}

}  // namespace learn
