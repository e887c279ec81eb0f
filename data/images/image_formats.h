#pragma once
#include "data/images/image.h"

#include <cstdint>
#include <span>

/// The formats that `decode_image` tells apart, one decoder each: RGB, upright, of `max_pixels` at
/// most. Throw DataError.
namespace learn::data {

using Bytes = std::span<const std::uint8_t>;

[[nodiscard]] Image decode_bmp(Bytes file, std::int64_t max_pixels);
[[nodiscard]] Image decode_gif(Bytes file, std::int64_t max_pixels);
[[nodiscard]] Image decode_jpeg(Bytes file, std::int64_t max_pixels);
[[nodiscard]] Image decode_png(Bytes file, std::int64_t max_pixels);
[[nodiscard]] Image decode_pnm(Bytes file, std::int64_t max_pixels);
[[nodiscard]] Image decode_tiff(Bytes file, std::int64_t max_pixels);
[[nodiscard]] Image decode_webp(Bytes file, std::int64_t max_pixels);

/// An RGB image of that size, or DataError before any memory is reserved for it.
[[nodiscard]] Image sized_image(std::int64_t width, std::int64_t height, std::int64_t max_pixels);

/// A number of 2 or 4 bytes, the least significant first, `at` bytes into the file.
[[nodiscard]] inline std::uint32_t little_endian(Bytes file, std::size_t at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) value = (value << 8U) | file[at + i];
  return value;
}

}  // namespace learn::data
