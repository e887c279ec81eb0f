#pragma once
#include "framework/core/round_up.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace learn::cpu {

/// Results along one axis of a convolution that are computed from the same taps of the window.
/// Result i is at first + i * step, and its tap reads source position i * source_step + offset.
/// Unlike AxisClass (conv_taps.h), it does not separate results whose taps fall into the padding,
/// because on the matrix unit a product with zeros costs less than one more case.
struct TileAxis {
  struct Tap {
    std::int64_t index;  ///< in the window
    std::int64_t offset;
  };
  std::int64_t count, first, step;
  std::int64_t source_step, source_extent;
  std::vector<Tap> taps;  ///< may be empty; such results are zero

  /// Returns the range of the given results whose `tap` is inside the source; it is empty if
  /// first >= second.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> inside(const Tap& tap,
                                                             std::int64_t begin,
                                                             std::int64_t end) const {
    const std::int64_t low = tap.offset >= 0 ? 0 : ceil_div(-tap.offset, source_step);
    const std::int64_t high =
        tap.offset >= source_extent ? 0 : (source_extent - 1 - tap.offset) / source_step + 1;
    return {std::max(begin, low), std::min(end, high)};
  }
};

/// Returns the axis of the forward pass: tap t of output i reads input i * stride - pad + t.
[[nodiscard]] inline std::vector<TileAxis> forward_axis(
    std::int64_t out, std::int64_t in, std::int64_t window, std::int64_t stride, std::int64_t pad) {
  TileAxis axis{out, 0, 1, stride, in, {}};
  for (std::int64_t t = 0; t < window; ++t) axis.taps.push_back({t, t - pad});
  return {axis};
}

/// Returns the axes of the input's gradient: input i got through tap t from output (i + pad - t) /
/// stride if that is an integer. So there are `stride` classes of inputs.
[[nodiscard]] inline std::vector<TileAxis> backward_axis(
    std::int64_t in, std::int64_t out, std::int64_t window, std::int64_t stride, std::int64_t pad) {
  std::vector<TileAxis> classes;
  for (std::int64_t first = 0; first < std::min(stride, in); ++first) {
    TileAxis axis{ceil_div(in - first, stride), first, stride, 1, out, {}};
    for (std::int64_t t = 0; t < window; ++t)
      if ((first + pad - t) % stride == 0) axis.taps.push_back({t, (first + pad - t) / stride});
    classes.push_back(std::move(axis));
  }
  return classes;
}

}  // namespace learn::cpu
