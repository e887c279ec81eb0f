#pragma once
#include "data/images/image.h"

#include <cstdint>
#include <span>

/// Decoders for the formats of `decode_image`. They return RGB, upright, of at most `max_pixels`,
/// and throw DataError.
namespace learn::data {

using Bytes = std::span<const std::uint8_t>;

[[nodiscard]] Image decode_bmp(Bytes file, std::int64_t max_pixels);
[[nodiscard]] Image decode_gif(Bytes file, std::int64_t max_pixels);
[[nodiscard]] Image decode_jpeg(Bytes file, std::int64_t max_pixels);
[[nodiscard]] Image decode_png(Bytes file, std::int64_t max_pixels);
[[nodiscard]] Image decode_pnm(Bytes file, std::int64_t max_pixels);
[[nodiscard]] Image decode_tiff(Bytes file, std::int64_t max_pixels);
[[nodiscard]] Image decode_webp(Bytes file, std::int64_t max_pixels);

/// Returns an RGB image of that size. Throws DataError before any memory is reserved if it is too
/// large.
[[nodiscard]] Image sized_image(std::int64_t width, std::int64_t height, std::int64_t max_pixels);

/// Reads a little-endian number of 2 or 4 bytes, `at` bytes into the file.
[[nodiscard]] inline std::uint32_t little_endian(Bytes file, std::size_t at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) value = (value << 8U) | file[at + i];
  return value;
}

}  // namespace learn::data
