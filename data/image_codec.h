#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace learn::data {

/// Pixels (H,W,C) of one image: C is 3, red, green, blue.
struct Image {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::uint8_t> pixels;
};

/// A image's header may claim any size; above this many pixels nothing is reserved for it.
inline constexpr std::int64_t kMaxPixels = 64 << 20;

/// Decodes a whole JPEG or PNG file, told apart by its first bytes, whatever the file is called.
/// Grey, palette, 16-bit and CMYK images become RGB; an alpha channel is dropped; EXIF rotation
/// is not applied. Damage of any kind, warnings of the decoder included, is a DataError, whose text
/// does not name the file.
[[nodiscard]] Image decode_image(std::span<const std::uint8_t> file,
                                 std::int64_t max_pixels = kMaxPixels);

}  // namespace learn::data
