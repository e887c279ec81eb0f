#pragma once
#include "data/images/image.h"

#include <cstdint>

namespace learn::data {

/// Scales the image to just cover `height` x `width`, keeping its proportions, and crops the
/// centre. Uses bilinear interpolation; when it shrinks, the triangle filter is widened by the
/// factor, so that every source pixel counts (as in PIL).
[[nodiscard]] Image resize_and_crop(const Image& image, std::int64_t height, std::int64_t width);

}  // namespace learn::data
