#pragma once
#include "framework/core/random.h"
#include "framework/kernels/augment/augment_plan.h"

#include <cstdint>

namespace learn {

/// The random words of one image.
struct AugmentDraw {
  std::uint64_t seed, epoch;
  std::uint64_t sample;  ///< below 2^40

  /// Returns four words for part `part`, below 4096, of step `number` of the list.
  [[nodiscard]] LEARN_HD constexpr Random4 operator()(std::int32_t number,
                                                      std::int32_t part = 0) const {
    return random4(seed,
                   RandomPurpose::augment,
                   epoch,
                   sample | (static_cast<std::uint64_t>(number) << 40U) |
                       (static_cast<std::uint64_t>(part) << 52U));
  }
  /// Returns four words for values 4 i to 4 i + 3 of a hole. `i` is below 2^24.
  [[nodiscard]] LEARN_HD constexpr Random4 noise(const AugmentPlan::Hole& hole,
                                                 std::int64_t i) const {
    return random4(seed,
                   RandomPurpose::noise,
                   (epoch & 0xFFFFFFU) | (static_cast<std::uint64_t>(i) << 24U),
                   sample | (static_cast<std::uint64_t>(hole.number) << 40U) |
                       (static_cast<std::uint64_t>(hole.hole) << 52U));
  }
};

/// Returns a word without an index into an array, which a device would keep in memory.
[[nodiscard]] LEARN_HD constexpr std::uint32_t nth(const Random4& r, std::uint32_t i) {
  return i == 0 ? r.v[0] : i == 1 ? r.v[1] : i == 2 ? r.v[2] : r.v[3];
}

[[nodiscard]] LEARN_HD constexpr float uniform_in(AugmentPlan::Span span, std::uint32_t word) {
  return span.low + (span.high - span.low) * uniform01(word);
}

/// Returns whether step `number` mirrors an image; `alternate`: the other way in every second
/// epoch.
[[nodiscard]] LEARN_HD constexpr bool is_flipped(float probability,
                                                 bool alternate,
                                                 std::int32_t number,
                                                 AugmentDraw draw) {
  const bool other = alternate && draw.epoch % 2 != 0;
  if (alternate) draw.epoch = 0;
  return (uniform01(draw(number).v[0]) < probability) != other;
}

}  // namespace learn
