#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace learn::plot {

/// The range an axis shows and where it has ticks.
struct Axis {
  struct Tick {
    double value = 0;
    std::string label;  ///< empty: a small tick
  };
  double low = 0;
  double high = 1;
  bool log = false;
  std::vector<Tick> ticks;  ///< all of them inside

  /// Where a value stands: 0 at `low`, 1 at `high`.
  [[nodiscard]] double place(double value) const;
  /// Whether it can stand anywhere: finite, and positive if the axis is logarithmic.
  [[nodiscard]] bool shows(double value) const;
};

/// An axis that holds [low, high]: its step is 1, 2 or 5 times a power of ten (at least 1 if
/// `integer`), so that it has about `count` ticks. A range of one value is widened, and one that
/// ends close to a whole number reaches that if `integer`.
[[nodiscard]] Axis linear_axis(double low, double high, int count, bool integer = false);

/// One for numbers of things, from 0 to a tick at or above `most`, with about `count` steps.
[[nodiscard]] Axis count_axis(std::int64_t most, int count);

/// A logarithmic one over positive values: ticks at powers of ten, every few of them where there
/// are many; at 2 and 5 times them too, where there are few; and small ones between. A range of
/// less than a factor of 6 has the ticks of a linear one.
[[nodiscard]] Axis log_axis(double low, double high, int count);

/// A number on an axis with ticks `step` apart of at most `largest`: with as many digits as the
/// step needs, and, for all of them alike, with a power of ten where that is shorter: "0.25", "20",
/// "1.5×10⁻⁷". Zero is "0".
[[nodiscard]] std::string number_label(double value, double step, double largest);

}  // namespace learn::plot
