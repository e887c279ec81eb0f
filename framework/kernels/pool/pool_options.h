#pragma once
#include <cstdint>

namespace learn {

/// Geometry of a 2-d pooling window.
struct Pool2dOptions {
  std::int64_t window_h = 2, window_w = 2;
  std::int64_t stride_h = 2, stride_w = 2;
  std::int64_t pad_h = 0, pad_w = 0;
  /// If true, average pooling divides by the size of the whole window (PyTorch's default),
  /// otherwise by the number of elements inside the image.
  bool count_padding = true;

  [[nodiscard]] static constexpr Pool2dOptions square(std::int64_t window,
                                                      std::int64_t stride,
                                                      std::int64_t pad = 0) {
    return {window, window, stride, stride, pad, pad, true};
  }
};

}  // namespace learn
