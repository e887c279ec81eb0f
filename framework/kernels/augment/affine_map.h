#pragma once
#include "framework/core/random.h"
#include "framework/kernels/augment/image_change.h"
#include "framework/kernels/common/sine_polynomial.h"

#include <cstdint>

namespace learn::image {

/// Returns the nearest multiple of 2^-16, times 2^16.
[[nodiscard]] LEARN_HD constexpr std::int64_t to_fixed(float value) {
  const float scaled = value * 65536;
  return static_cast<std::int64_t>(scaled < 0 ? scaled - 0.5F : scaled + 0.5F);
}

struct Turn {
  float sine, cosine;
};
/// Returns the sine and cosine of an angle between -360 and 360 degrees.
[[nodiscard]] LEARN_HD constexpr Turn turn_of(float degrees) {
  const float quarters = degrees / 90;
  const auto whole = static_cast<std::int32_t>(quarters < 0 ? quarters - 0.5F : quarters + 0.5F);
  const float rest = (degrees - 90 * static_cast<float>(whole)) * 0.0174532925F;
  const auto n = static_cast<std::uint32_t>(whole);
  return {sine_polynomial(rest, n), sine_polynomial(rest, n + 1)};
}

/// The pixel of a result, relative to the image's centre, comes from (xx x + xy y + x0, yx x + yy y
/// + y0), also relative to the centre.
struct CenteredMap {
  float xx = 1, xy = 0, x0 = 0, yx = 0, yy = 1, y0 = 0;
};

[[nodiscard]] LEARN_HD constexpr AffineMap to_pixels(const CenteredMap& m,
                                                     std::int32_t height,
                                                     std::int32_t width) {
  // From the index of a pixel to the centre, which is a half or a whole one, and back.
  const std::int64_t dx = width - 1;
  const std::int64_t dy = height - 1;
  AffineMap map{to_fixed(m.xx), to_fixed(m.xy), 0, to_fixed(m.yx), to_fixed(m.yy), 0};
  map.x0 = to_fixed(m.x0) + ((65536 - map.xx) * dx - map.xy * dy) / 2;
  map.y0 = to_fixed(m.y0) + ((65536 - map.yy) * dy - map.yx * dx) / 2;
  return map;
}

/// Returns the map that turns an image clockwise, scales it, shears its rows to the left as they go
/// down, and shifts it by (x, y) pixels: the inverse of shift * turn * scale * shear around the
/// centre, as torchvision's `affine`.
[[nodiscard]] LEARN_HD constexpr CenteredMap affine_map(
    float degrees, float scale, float shear_degrees, float x, float y) {
  const Turn turn = turn_of(degrees);
  const Turn shear = turn_of(shear_degrees);
  const float tangent = shear.sine / shear.cosine;
  const float sine = turn.sine;
  const float cosine = turn.cosine;
  CenteredMap m;
  m.xx = (cosine - sine * tangent) / scale;
  m.xy = (cosine * tangent + sine) / scale;
  m.yx = -sine / scale;
  m.yy = cosine / scale;
  m.x0 = -(m.xx * x + m.xy * y);
  m.y0 = -(m.yx * x + m.yy * y);
  return m;
}

}  // namespace learn::image
