#pragma once
#include "framework/kernels/common/cpu/vectorize.h"

#include <cstdint>

namespace learn::cpu {

/// Joins n values in pairs, with fewer steps than one after the other; changes them. `n` is a power
/// of two.
template <std::int64_t n, class Join, class T>
[[gnu::always_inline]] inline T join_lanes(T* lanes, const Join& join) {
  if constexpr (n == 1) {
    return lanes[0];
  } else {
    LEARN_VECTORIZE
    for (std::int64_t j = 0; j < n / 2; ++j) lanes[j] = join(lanes[j], lanes[j + n / 2]);
    return join_lanes<n / 2>(lanes, join);
  }
}

/// The greater one, without a branch; the second one if one is NaN.
struct Greater {
  float operator()(float a, float b) const { return a > b ? a : b; }
};

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
