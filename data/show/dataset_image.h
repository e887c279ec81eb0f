#pragma once
#include "data/dataset.h"
#include "framework/drawing/image.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace learn::data {

/// Converts pixels (H,W,C) for drawing: of one or two channels the first as grey; otherwise the
/// first three as red, green and blue.
[[nodiscard]] plot::Image drawn_image(std::int64_t height,
                                      std::int64_t width,
                                      std::int64_t channels,
                                      std::span<const std::uint8_t> pixels);
/// Converts floats for drawing, with the given values for black and white.
[[nodiscard]] plot::Image drawn_image(std::int64_t height,
                                      std::int64_t width,
                                      std::int64_t channels,
                                      std::span<const float> values,
                                      float black = 0,
                                      float white = 1);
/// Returns the values for black and white in a set: 0 and 1 for u8, where 255 counts as 1; the
/// smallest and the largest value for floats.
[[nodiscard]] std::pair<float, float> black_and_white(const Dataset& dataset);

/// Returns image `i` of a set for drawing. Throws UsageError if it does not exist, or for a set of
/// features.
[[nodiscard]] plot::Image image_of(const Dataset& dataset, std::int64_t i);

/// Returns the name of the set in a title, which marks generated images.
[[nodiscard]] std::string title_of(const Dataset& dataset);

}  // namespace learn::data
