#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace learn::cpu {

/// Results along one axis of a convolution that see the same taps of the window. A block of rows
/// from one class needs no test for the padding and multiplies no zeros. On a 2x2 map with a 3x3
/// window that leaves 4 taps of 9.
struct AxisClass {
  struct Tap {
    std::int64_t index;   ///< in the window
    std::int64_t offset;  ///< of its source position, relative to the first tap
  };
  struct Position {
    std::int64_t to;    ///< in the result
    std::int64_t from;  ///< source position of the first tap
  };
  std::vector<Tap> taps;  ///< may be empty; such results are zero
  std::vector<Position> positions;
};

/// Returns the classes of [0, extent). `source(position, tap)` is the source position, or nothing
/// if the tap falls outside. Offsets between taps must be the same for all positions that share a
/// set of taps.
template <class Source>
std::vector<AxisClass> axis_classes(std::int64_t extent, std::int64_t window, Source&& source) {
  std::vector<AxisClass> classes;
  for (std::int64_t position = 0; position < extent; ++position) {
    std::vector<AxisClass::Tap> taps;
    std::int64_t first = 0;
    for (std::int64_t tap = 0; tap < window; ++tap) {
      const std::optional<std::int64_t> from = source(position, tap);
      if (!from) continue;
      if (taps.empty()) first = *from;
      taps.push_back({tap, *from - first});
    }
    const auto same = [&](const AxisClass& c) {
      if (c.taps.size() != taps.size()) return false;
      for (std::size_t i = 0; i < taps.size(); ++i)
        if (c.taps[i].index != taps[i].index) return false;
      return true;
    };
    AxisClass* found = nullptr;
    for (AxisClass& c : classes)
      if (same(c)) found = &c;
    if (found == nullptr) found = &classes.emplace_back(AxisClass{std::move(taps), {}});
    found->positions.push_back({position, first});
  }
  return classes;
}

/// Returns the classes of the results of the forward pass: tap t of output position i reads input
/// i * stride - pad + t.
[[nodiscard]] inline std::vector<AxisClass> forward_classes(
    std::int64_t out, std::int64_t in, std::int64_t window, std::int64_t stride, std::int64_t pad) {
  return axis_classes(
      out, window, [=](std::int64_t i, std::int64_t t) -> std::optional<std::int64_t> {
        const std::int64_t from = i * stride - pad + t;
        if (from < 0 || from >= in) return std::nullopt;
        return from;
      });
}

/// Returns the classes of the input's gradient: input i got through tap t from output (i + pad -
/// t) / stride.
[[nodiscard]] inline std::vector<AxisClass> backward_classes(
    std::int64_t in, std::int64_t out, std::int64_t window, std::int64_t stride, std::int64_t pad) {
  return axis_classes(
      in, window, [=](std::int64_t i, std::int64_t t) -> std::optional<std::int64_t> {
        const std::int64_t scaled = i + pad - t;
        if (scaled < 0 || scaled % stride != 0 || scaled / stride >= out) return std::nullopt;
        return scaled / stride;
      });
}

}  // namespace learn::cpu
