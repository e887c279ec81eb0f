#pragma once
#include <string>

namespace learn::data {

/// The numbers from `low` to `high`, of which one is drawn uniformly. Written as "0.3:1", or as one
/// number if both are equal.
struct Interval {
  float low = 0;
  float high = 0;

  Interval(float low_end, float high_end) : low(low_end), high(high_end) {}
  /// Throws UsageError unless the text is one number, or two of which the second is not smaller.
  explicit Interval(const std::string& text);
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool operator==(const Interval&) const = default;
};

}  // namespace learn::data
