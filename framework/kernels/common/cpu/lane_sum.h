#pragma once
#include <cstdint>

namespace learn::cpu {

/// Returns the sum of term(0) ... term(n - 1), using enough partial sums to fill vectors. Their
/// number determines the order of additions and so is part of the result. Call it in the body of
/// `simd::run`.
template <std::int64_t lane_count = 16, class Term>
[[nodiscard]] float lane_sum(std::int64_t n, Term term) {
  float lanes[lane_count] = {};
  const std::int64_t whole = n / lane_count * lane_count;
  for (std::int64_t i = 0; i < whole; i += lane_count)
    for (std::int64_t lane = 0; lane < lane_count; ++lane) lanes[lane] += term(i + lane);
  for (std::int64_t i = whole; i < n; ++i) lanes[i - whole] += term(i);
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

}  // namespace learn::cpu
