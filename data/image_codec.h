#pragma once
#include "data/image.h"

#include <cstdint>
#include <filesystem>
#include <span>

namespace learn::data {

/// A image's header may claim any size; above this many pixels nothing is reserved for it.
inline constexpr std::int64_t kMaxPixels = 64 << 20;

/// Decodes a whole JPEG or PNG file, told apart by its first bytes, whatever the file is called.
/// Grey, palette, 16-bit and CMYK images become RGB; an alpha channel is dropped; the
/// image is turned upright as its EXIF orientation says. Damage of any kind, warnings of the
/// decoder included, is a DataError, whose text does not name the file.
[[nodiscard]] Image decode_image(std::span<const std::uint8_t> file,
                                 std::int64_t max_pixels = kMaxPixels);

/// Whether it ends in .jpg, .jpeg or .png, in small or capital letters.
[[nodiscard]] bool has_image_name(const std::filesystem::path& file);
/// Whether these first bytes of a file are those of a JPEG or a PNG.
[[nodiscard]] bool begins_like_image(std::span<const std::uint8_t> file);

}  // namespace learn::data
