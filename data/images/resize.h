#pragma once
#include "data/images/image.h"
#include "framework/kernels/augment/image_change.h"

#include <cstdint>

namespace learn::data {

/// Scales the image to just cover `height` x `width`, keeping its proportions, and crops the
/// centre. Uses bilinear interpolation; when it shrinks, the triangle filter is widened by the
/// factor, so that every source pixel counts (as in PIL).
[[nodiscard]] Image resize_and_crop(const Image& image, std::int64_t height, std::int64_t width);

/// Scales a part of the image to `height` x `width` in the same way. Pixels around the part do not
/// count.
[[nodiscard]] Image resize_part(const Image& image,
                                const image::Window& part,
                                std::int64_t height,
                                std::int64_t width);

}  // namespace learn::data
