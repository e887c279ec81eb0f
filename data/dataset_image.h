#pragma once
#include "data/dataset.h"
#include "framework/drawing/image.h"

#include <string>

namespace learn::data {

/// Image `i` of a set, to be drawn.
[[nodiscard]] plot::Image image_of(const Dataset& dataset, std::int64_t i);

/// What a title calls the set: images that were computed are called so.
[[nodiscard]] std::string title_of(const Dataset& dataset);

}  // namespace learn::data
