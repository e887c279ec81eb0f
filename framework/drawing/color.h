#pragma once
#include <cstddef>
#include <cstdint>

/// Drawings of numbers and images as PNG and SVG, without an external program.
namespace learn::plot {

struct Color {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;
  [[nodiscard]] bool operator==(const Color&) const = default;
};

inline constexpr Color kWhite{255, 255, 255};
inline constexpr Color kInk{36, 40, 47};        ///< titles and axes
inline constexpr Color kSoftInk{98, 104, 115};  ///< tick labels
inline constexpr Color kGrid{228, 231, 235};
/// Colours for right and wrong that colour-blind readers can distinguish, too.
inline constexpr Color kRight{0, 114, 178};
inline constexpr Color kWrong{200, 70, 0};

inline constexpr std::size_t kPaletteColors = 6;
/// Returns a colour for lines: Okabe and Ito's palette for colour-blind readers, without the
/// yellow, which is too pale on white. From `kPaletteColors` on the colours repeat.
[[nodiscard]] Color palette(std::size_t place) noexcept;

/// Mixes `share` of `b` with the rest of `a`.
[[nodiscard]] Color mix(Color a, Color b, double share) noexcept;

}  // namespace learn::plot
