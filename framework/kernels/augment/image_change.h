#pragma once
#include <cstdint>

/// Changes of one image, with all numbers drawn.
namespace learn::image {

/// The source of pixel (x, y) of the result is at column (xx * x + xy * y + x0) / 2^16 and row
/// (yx * x + yy * y + y0) / 2^16, where whole numbers are centres of pixels. Whole numbers have the
/// same bits on any device.
struct AffineMap {
  std::int64_t xx, xy, x0, yx, yy, y0;
};

/// A part of an image.
struct Window {
  std::int32_t top, left, height, width;
};

/// Without initial values, so that threads can share one. `Change{}` changes nothing.
struct Change {
  enum class Kind : std::uint8_t {
    none,
    brightness,
    contrast,
    saturation,
    hue,
    gray,
    invert,
    posterize,
    solarize,
    equalize,
    autocontrast,
    sharpness,
    blur,
    affine,
    resize,
  };
  Kind kind;
  bool smooth;         ///< affine: bilinear, otherwise nearest
  std::int32_t count;  ///< posterize: bits; solarize: threshold; blur: size
  float factor;        ///< of a colour or sharpness; hue: shift; blur: deviation in pixels
  AffineMap map;       ///< affine
  Window window;       ///< resize: what is scaled to the size of the result
};

}  // namespace learn::image
