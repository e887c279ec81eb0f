#include "callbacks/mix/mix_draw.h"

#include "framework/core/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace learn::callbacks {
namespace {

/// Uniform in (0, 1), 32 bits.
double open_uniform(std::uint32_t word) { return (static_cast<double>(word) + 0.5) * 0x1p-32; }

/// Element 0 of a batch's words is for what is mixed, later ones are for Beta.
Random4 words_of(std::uint64_t seed, std::uint64_t batch, std::uint64_t element) {
  return random4(seed, RandomPurpose::mix, batch, element);
}

/// The logarithm of a Gamma variable of shape `a`; `which`: 0 or 1.
double draw_log_gamma(double a, std::uint64_t seed, std::uint64_t batch, std::uint64_t which) {
  const double shape = a < 1 ? a + 1 : a;
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (std::uint64_t attempt = 0;; ++attempt) {
    const Random4 words = words_of(seed, batch, 1 + 2 * attempt + which);
    const double radius = std::sqrt(-2 * std::log(open_uniform(words.v[0])));
    const double normal = radius * std::cos(2 * std::numbers::pi * open_uniform(words.v[1]));
    const double root = 1 + c * normal;
    if (root <= 0) continue;
    const double cube = root * root * root;
    if (std::log(open_uniform(words.v[2])) >=
        0.5 * normal * normal + d - d * cube + d * std::log(cube))
      continue;
    const double log_gamma = std::log(d * cube);
    return a < 1 ? log_gamma + std::log(open_uniform(words.v[3])) / a : log_gamma;
  }
}

}  // namespace

double draw_beta(double a, std::uint64_t seed, std::uint64_t batch) {
  return 1 / (1 + std::exp(draw_log_gamma(a, seed, batch, 1) - draw_log_gamma(a, seed, batch, 0)));
}

MixDraw::Box box_around(
    std::int64_t row, std::int64_t column, double share, std::int64_t height, std::int64_t width) {
  const auto cut = [&](std::int64_t centre, std::int64_t side) {
    const auto size = static_cast<std::int64_t>(static_cast<double>(side) * std::sqrt(1 - share));
    const std::int64_t first = centre - size / 2;
    return std::pair(std::max<std::int64_t>(0, first), std::min(side, first + size));
  };
  const auto [top, bottom] = cut(row, height);
  const auto [left, right] = cut(column, width);
  return {top, bottom, left, right};
}

MixDraw draw_mix(const MixOptions& options,
                 std::uint64_t seed,
                 std::uint64_t batch,
                 std::int64_t height,
                 std::int64_t width) {
  const Random4 words = words_of(seed, batch, 0);
  MixDraw draw;
  if (!(static_cast<double>(uniform01(words.v[0])) < options.p)) return draw;
  draw.boxed = options.cutmix > 0 && (options.mixup == 0 || (words.v[1] & 1U) != 0);
  draw.own = draw_beta(draw.boxed ? options.cutmix : options.mixup, seed, batch);
  if (!draw.boxed) return draw;
  draw.box = box_around(uniform_below(words.v[2], static_cast<std::uint32_t>(height)),
                        uniform_below(words.v[3], static_cast<std::uint32_t>(width)),
                        draw.own,
                        height,
                        width);
  const std::int64_t area = (draw.box.bottom - draw.box.top) * (draw.box.right - draw.box.left);
  draw.own = 1 - static_cast<double>(area) / static_cast<double>(height * width);
  return draw;
}

}  // namespace learn::callbacks
