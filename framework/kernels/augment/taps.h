#pragma once
#include "framework/core/random.h"
#include "framework/kernels/common/exp_log_polynomials.h"

#include <cstdint>

/// Weights of source pixels as whole numbers, which give the same bits on any device.
namespace learn::image {

inline constexpr std::int32_t kOne = 65536;  ///< the weights of a result add up to it

/// An axis of a resized image: a result covers from / to source pixels.
struct Axis {
  std::int32_t source;  ///< number of source pixels
  std::int32_t result;  ///< number of results
  std::int64_t from, to;

  /// Returns the centre of result `o` in source pixels, times 2 `to`. The results are in the middle
  /// of the source, all of it or a part.
  [[nodiscard]] LEARN_HD constexpr std::int64_t center(std::int32_t o) const {
    return (source * to - result * from) + (2 * std::int64_t{o} + 1) * from;
  }
  /// Returns how far from the centre source pixels count, times `to`: one pixel, or when it
  /// shrinks, what a result covers, so that every source pixel counts (as in PIL).
  [[nodiscard]] LEARN_HD constexpr std::int64_t reach() const { return from < to ? to : from; }
  /// Returns the words of one result's taps: index of the first source pixel, number of weights,
  /// weights.
  [[nodiscard]] LEARN_HD constexpr std::int32_t tap_words() const {
    return static_cast<std::int32_t>(2 * (reach() / to) + 5);
  }
};

/// Returns the axis of a whole image.
[[nodiscard]] LEARN_HD constexpr Axis scaled(std::int32_t from, std::int32_t to) {
  return {from, to, from, to};
}

/// Turns weights into whole ones that add up to `kOne`.
struct WholeWeights {
  std::int64_t total;
  std::int64_t sum = 0;
  std::int64_t used = 0;
  LEARN_HD constexpr std::int32_t next(std::int64_t weight) {
    sum += weight;
    const std::int64_t until = (2 * sum * kOne + total) / (2 * total);
    const std::int64_t whole = until - used;
    used = until;
    return static_cast<std::int32_t>(whole);
  }
};

/// Writes the taps of result `o`: bilinear interpolation, with the triangle as wide as its reach.
LEARN_HD constexpr void make_taps(const Axis& axis, std::int32_t o, std::int32_t* taps) {
  const std::int64_t center = axis.center(o);
  const std::int64_t reach = axis.reach();
  const std::int64_t low = center - 2 * reach + axis.to;
  const std::int64_t high = (center + 2 * reach + axis.to) / (2 * axis.to);
  const auto first = static_cast<std::int32_t>(low < 0 ? 0 : low / (2 * axis.to));
  const std::int32_t last = high < axis.source ? static_cast<std::int32_t>(high) : axis.source;
  const auto weight = [&](std::int32_t s) {
    const std::int64_t distance = (2 * std::int64_t{s} + 1) * axis.to - center;
    const std::int64_t value = 2 * reach - (distance < 0 ? -distance : distance);
    return value < 0 ? 0 : value;
  };
  WholeWeights whole{0};
  for (std::int32_t s = first; s < last; ++s) whole.total += weight(s);
  taps[0] = first;
  taps[1] = last - first;
  for (std::int32_t s = first; s < last; ++s) taps[2 + s - first] = whole.next(weight(s));
}

/// Writes `size` weights of a normal distribution with this deviation, 2 words further.
LEARN_HD constexpr void make_bell(std::int32_t size, float deviation, std::int32_t* taps) {
  const auto weight = [&](std::int32_t i) -> std::int64_t {
    const float x = static_cast<float>(i - size / 2) / deviation;
    const float exponent = -0.5F * (x * x);
    return exponent < -80 ? 0 : static_cast<std::int32_t>(exp_polynomial(exponent) * 0x1p24F);
  };
  WholeWeights whole{0};
  for (std::int32_t i = 0; i < size; ++i) whole.total += weight(i);
  taps[0] = -(size / 2);
  taps[1] = size;
  for (std::int32_t i = 0; i < size; ++i) taps[2 + i] = whole.next(weight(i));
}

}  // namespace learn::image
