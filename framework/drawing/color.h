#pragma once
#include <cstddef>
#include <cstdint>

/// Drawings of numbers and of images, without any other program: PNG and SVG.
namespace learn::plot {

struct Color {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;
  [[nodiscard]] bool operator==(const Color&) const = default;
};

inline constexpr Color kWhite{255, 255, 255};
inline constexpr Color kInk{36, 40, 47};        ///< titles, axes
inline constexpr Color kSoftInk{98, 104, 115};  ///< labels of ticks
inline constexpr Color kGrid{228, 231, 235};
/// What is right and what is wrong, told apart by colour-blind readers too.
inline constexpr Color kRight{0, 114, 178};
inline constexpr Color kWrong{200, 70, 0};

inline constexpr std::size_t kPaletteColors = 6;
/// Colours of lines: Okabe and Ito's for colour-blind readers, without their yellow, which is too
/// pale on white. Those from `kPaletteColors` on are the same again.
[[nodiscard]] Color palette(std::size_t place) noexcept;

/// `share` of `b` and the rest of `a`.
[[nodiscard]] Color mix(Color a, Color b, double share) noexcept;

}  // namespace learn::plot
