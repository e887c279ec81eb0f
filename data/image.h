#pragma once
#include <cstdint>
#include <vector>

namespace learn::data {

/// Pixels (H,W,C) of one image.
struct Image {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::uint8_t> pixels;
  std::int64_t channels = 3;  ///< 3: red, green, blue; 1: grey
};

}  // namespace learn::data
