#pragma once
#include "data/dataset.h"
#include "data/image_codec.h"

#include <cstdint>

namespace learn::data {

/// Scales the image so that it just covers `height` x `width`, keeping its proportions, and cuts
/// the middle out. Bilinear; where it shrinks, the triangle filter is widened by the factor, so
/// that every source pixel counts (as PIL does it).
[[nodiscard]] Image resize_and_crop(const Image& image, std::int64_t height, std::int64_t width);

/// The same for each image of a data set of u8, in memory of the result's size. One of that size
/// already stays as it is. Throws UsageError for a set of floats.
[[nodiscard]] Dataset resized(Dataset from, ImageSize size);

}  // namespace learn::data
