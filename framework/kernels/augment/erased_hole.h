#pragma once
#include "framework/kernels/augment/augment_draw.h"
#include "framework/kernels/common/exp_log_polynomials.h"
#include "framework/kernels/common/sine_polynomial.h"

#include <cmath>
#include <cstdint>

/// The part of an image that a cutout or an erase covers, and its noise.
namespace learn::image {

/// May extend beyond the image.
struct Hole {
  std::int32_t top, left, height, width;

  [[nodiscard]] LEARN_HD constexpr bool covers(std::int32_t row, std::int32_t column) const {
    return row >= top && row < top + height && column >= left && column < left + width;
  }
};

[[nodiscard]] LEARN_HD inline Hole draw_hole(const AugmentPlan::Hole& hole,
                                             const AugmentDraw& draw,
                                             std::int32_t height,
                                             std::int32_t width) {
  const auto below = [](std::uint32_t word, std::int32_t n) {
    return static_cast<std::int32_t>(uniform_below(word, static_cast<std::uint32_t>(n)));
  };
  const Random4 first = draw(hole.number, hole.hole);
  if (hole.length > 0)
    return {below(first.v[0], height) - hole.length / 2,
            below(first.v[1], width) - hole.length / 2,
            hole.length,
            hole.length};
  constexpr Hole kNone{0, 0, 0, 0};
  if (!(uniform01(first.v[0]) < hole.probability)) return kNone;
  constexpr int kAttempts = 10;
  const float area = static_cast<float>(height) * static_cast<float>(width);
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    const Random4 r = draw(hole.number, attempt);
    const float part = area * uniform_in(hole.area, r.v[0]);
    const float ratio = exp_polynomial(uniform_in(hole.log_ratio, r.v[1]));
    const float h = std::sqrt(part * ratio) + 0.5F;
    const float w = std::sqrt(part / ratio) + 0.5F;
    if (!(h < static_cast<float>(height) && w < static_cast<float>(width))) continue;
    const auto rows = static_cast<std::int32_t>(h);
    const auto columns = static_cast<std::int32_t>(w);
    return {below(r.v[2], height - rows + 1), below(r.v[3], width - columns + 1), rows, columns};
  }
  return kNone;
}

/// Returns a number from the standard normal distribution for value `i` of the image, by Box and
/// Muller's method.
[[nodiscard]] LEARN_HD inline float noise_of(const AugmentPlan::Hole& hole,
                                             const AugmentDraw& draw,
                                             std::int64_t i) {
  const Random4 r = draw.noise(hole, i / 4);
  const std::uint32_t pair = i % 4 < 2 ? 0 : 2;
  const float radius =
      std::sqrt(-2 * log_polynomial((static_cast<float>(nth(r, pair) >> 8U) + 1) * 0x1p-24F));
  // Two bits choose the quarter of the circle, the others the angle in it, from -pi/4 to pi/4.
  const std::uint32_t word = nth(r, pair + 1);
  const float rest = (uniform01(word << 2U) - 0.5F) * 1.57079633F;
  return radius * sine_polynomial(rest, (word >> 30U) + static_cast<std::uint32_t>(i % 2));
}

}  // namespace learn::image
