#pragma once
#include "framework/kernels/conv/conv_options.h"

#include <cstdint>

namespace learn {

/// All sizes of one convolution: x (n,h,w,c) * weight (k,r,s,c/groups) -> y (n,p,q,k).
struct ConvGeometry {
  std::int64_t n = 0, h = 1, w = 1, c = 0;
  std::int64_t k = 0, r = 1, s = 1;
  std::int64_t p = 1, q = 1;
  Conv2dOptions options;
  /// Elements per pixel of x in memory if its c channels are followed by zeros; 0 if they are not.
  std::int64_t x_width = 0;

  [[nodiscard]] constexpr std::int64_t group_c() const { return c / options.groups; }
  [[nodiscard]] constexpr std::int64_t group_k() const { return k / options.groups; }
  [[nodiscard]] constexpr std::int64_t x_elements() const { return n * h * w * c; }
  [[nodiscard]] constexpr std::int64_t y_elements() const { return n * p * q * k; }
  [[nodiscard]] constexpr std::int64_t weight_elements() const { return k * r * s * group_c(); }
  friend constexpr bool operator==(const ConvGeometry&, const ConvGeometry&) = default;
};

/// Returns the extent of a convolution's result along one side: floor((in + pads - window) /
/// stride) + 1.
[[nodiscard]] constexpr std::int64_t conv_extent(std::int64_t in,
                                                 std::int64_t pads,
                                                 std::int64_t window,
                                                 std::int64_t stride) {
  return in + pads < window ? 0 : (in + pads - window) / stride + 1;
}

}  // namespace learn
