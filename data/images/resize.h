#pragma once
#include "data/images/image.h"

#include <cstdint>

namespace learn::data {

/// Scales the image so that it just covers `height` x `width`, keeping its proportions, and cuts
/// the middle out. Bilinear; where it shrinks, the triangle filter is widened by the factor, so
/// that every source pixel counts (as PIL does it).
[[nodiscard]] Image resize_and_crop(const Image& image, std::int64_t height, std::int64_t width);

}  // namespace learn::data
