#pragma once
#include "data/images/image.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace learn::data {

/// Returns whether the block starts with "Exif", as it does in JPEG files and, from some programs,
/// elsewhere.
[[nodiscard]] bool has_exif_header(std::span<const std::uint8_t> block);

/// Returns the orientation of a photograph (EXIF's tag 0x0112), 1 to 8, from an EXIF block with or
/// without its header. The number may have any integer type except BYTE (as PIL reads it). Returns
/// 1, upright, if the block lacks the tag or is damaged.
[[nodiscard]] int exif_orientation(std::span<const std::uint8_t> block);

/// Decodes the EXIF block in ImageMagick's PNG text "Raw profile type exif" (or APP1): a name, a
/// length, then hexadecimal digits. Empty if it is damaged.
[[nodiscard]] std::vector<std::uint8_t> exif_of_profile(std::string_view text);

/// Rotates and mirrors the RGB image upright according to `orientation` (1 if it is not in [1, 8]).
[[nodiscard]] Image upright(Image image, int orientation);

}  // namespace learn::data
