#pragma once
#include <array>
#include <cstdint>

namespace learn::plot {

inline constexpr int kGlyphWidth = 5;
inline constexpr int kGlyphHeight = 7;  ///< one more row below the line for g, p, y
/// Five columns from the left, the lowest bit on top. Characters outside of ASCII look like '?'.
[[nodiscard]] const std::array<std::uint8_t, kGlyphWidth>& glyph(char c) noexcept;

}  // namespace learn::plot
