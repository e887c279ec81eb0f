#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace learn::plot {

/// The range of an axis, and the positions of its ticks.
struct Axis {
  struct Tick {
    double value = 0;
    std::string label;  ///< empty: a minor tick
  };
  double low = 0;
  double high = 1;
  bool log = false;
  std::vector<Tick> ticks;  ///< all inside the range

  /// Returns the relative position of a value: 0 at `low`, 1 at `high`.
  [[nodiscard]] double place(double value) const;
  /// Returns whether the axis can show the value: it is finite, and positive on a logarithmic axis.
  [[nodiscard]] bool shows(double value) const;
};

/// Returns an axis that covers [low, high] with about `count` ticks. Its step is 1, 2 or 5 times a
/// power of ten, and at least 1 if `integer`. A range of one value is widened; if `integer`, a
/// range that ends close to a whole number is extended to it.
[[nodiscard]] Axis linear_axis(double low, double high, int count, bool integer = false);

/// Returns an axis for counts, from 0 to a tick at or above `most`, with about `count` steps.
[[nodiscard]] Axis count_axis(std::int64_t most, int count);

/// Returns a logarithmic axis for positive values. It has ticks at powers of ten, or at every n-th
/// power in a wide range; in a narrow range also at 2 and 5 times the powers; and minor ticks in
/// between. A range of less than a factor of 6 gets the ticks of a linear axis.
[[nodiscard]] Axis log_axis(double low, double high, int count);

/// Formats a number for an axis whose ticks are `step` apart and at most `largest`. It has as many
/// digits as the step needs. All labels of the axis use a power of ten if that is shorter: "0.25",
/// "20", "1.5×10⁻⁷". Zero is "0".
[[nodiscard]] std::string number_label(double value, double step, double largest);

}  // namespace learn::plot
