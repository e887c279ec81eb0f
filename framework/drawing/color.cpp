#include "framework/drawing/color.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace learn::plot {

Color palette(std::size_t place) noexcept {
  constexpr std::array<Color, kPaletteColors> kColors{
      {{0, 114, 178}, {213, 94, 0}, {0, 158, 115}, {204, 121, 167}, {86, 180, 233}, {230, 159, 0}}};
  return kColors[place % kColors.size()];
}

Color mix(Color a, Color b, double share) noexcept {
  const double s = std::clamp(share, 0.0, 1.0);
  const auto channel = [s](std::uint8_t x, std::uint8_t y) {
    return static_cast<std::uint8_t>(std::lround(x + (y - x) * s));
  };
  return {channel(a.r, b.r), channel(a.g, b.g), channel(a.b, b.b)};
}

}  // namespace learn::plot
