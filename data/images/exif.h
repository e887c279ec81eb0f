#pragma once
#include "data/images/image.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace learn::data {

/// Whether it begins with "Exif", as the block does in JPEG files and, by some programs, elsewhere.
[[nodiscard]] bool has_exif_header(std::span<const std::uint8_t> block);

/// Orientation of a photograph (EXIF's tag 0x0112), 1 to 8, from an EXIF block with or without its
/// header, as a number of any integer type but BYTE (as PIL reads it). 1, upright, if `block` does
/// not have the tag or is damaged.
[[nodiscard]] int exif_orientation(std::span<const std::uint8_t> block);

/// The block in the text of ImageMagick's "Raw profile type exif" (or APP1) of PNG: a name, a
/// length, then hexadecimal digits. Empty if it is damaged.
[[nodiscard]] std::vector<std::uint8_t> exif_of_profile(std::string_view text);

/// The RGB image, turned and mirrored as `orientation` says (1 where that is not in [1, 8]), so
/// that its top is the scene's.
[[nodiscard]] Image upright(Image image, int orientation);

}  // namespace learn::data
