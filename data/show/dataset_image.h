#pragma once
#include "data/dataset.h"
#include "framework/drawing/image.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace learn::data {

/// To be drawn, from pixels (H,W,C): one channel or two as grey, the first; else the first three as
/// red, green and blue.
[[nodiscard]] plot::Image drawn_image(std::int64_t height,
                                      std::int64_t width,
                                      std::int64_t channels,
                                      std::span<const std::uint8_t> pixels);
/// The same from floats, of which `black` and `white` are as they say.
[[nodiscard]] plot::Image drawn_image(std::int64_t height,
                                      std::int64_t width,
                                      std::int64_t channels,
                                      std::span<const float> values,
                                      float black = 0,
                                      float white = 1);
/// What is black and what is white in a set: 0 and 1 of one of u8, where 255 counts as 1, the least
/// and the largest value of one of floats.
[[nodiscard]] std::pair<float, float> black_and_white(const Dataset& dataset);

/// Image `i` of a set, to be drawn. Throws UsageError if there is none, or the set is of features.
[[nodiscard]] plot::Image image_of(const Dataset& dataset, std::int64_t i);

/// What a title calls the set: images that were computed are called so.
[[nodiscard]] std::string title_of(const Dataset& dataset);

}  // namespace learn::data
