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

/// Geometry of a 2-d pooling window.
struct Pool2dOptions {
  std::int64_t window_h = 2, window_w = 2;
  std::int64_t stride_h = 2, stride_w = 2;
  std::int64_t pad_h = 0, pad_w = 0;
  /// Average pooling divides by the whole window (PyTorch's default) or only by what lies inside.
  bool count_padding = true;

  [[nodiscard]] static constexpr Pool2dOptions square(std::int64_t window,
                                                      std::int64_t stride,
                                                      std::int64_t pad = 0) {
    return {window, window, stride, stride, pad, pad, true};
  }
};

}  // namespace learn
