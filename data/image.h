#pragma once
#include <cstdint>
#include <vector>

namespace learn::data {

/// Pixels (H,W,C) of one image: C is 3, red, green, blue.
struct Image {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::uint8_t> pixels;
};

}  // namespace learn::data
