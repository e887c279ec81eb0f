#pragma once
#include "framework/drawing/color.h"

#include <cstdint>
#include <vector>

namespace learn::plot {

/// An image of 8-bit RGB pixels, row by row from the top.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;  ///< 3 * width * height

  [[nodiscard]] Color pixel(int x, int y) const {
    const auto at = 3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                         static_cast<std::size_t>(x));
    return {rgb.at(at), rgb.at(at + 1), rgb.at(at + 2)};
  }
};

}  // namespace learn::plot
