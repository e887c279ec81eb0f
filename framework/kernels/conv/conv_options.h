#pragma once
#include <cstdint>

namespace learn {

/// Geometry of a 2-d convolution. Padding may differ on all four sides.
struct Conv2dOptions {
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  std::int64_t groups = 1;

  [[nodiscard]] static constexpr Conv2dOptions symmetric(std::int64_t stride,
                                                         std::int64_t pad,
                                                         std::int64_t groups = 1) {
    return {stride, stride, pad, pad, pad, pad, groups};
  }
  friend constexpr bool operator==(const Conv2dOptions&, const Conv2dOptions&) = default;
};

}  // namespace learn
