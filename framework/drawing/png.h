#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace learn {

/// The bytes of a PNG file of 8-bit RGB pixels, row by row from the top: `3 * width * height`
/// bytes. Throws UsageError for a size that does not fit the pixels.
[[nodiscard]] std::string encode_png(int width, int height, std::span<const std::uint8_t> rgb);

/// Writes such a file. Atomic. Throws as `encode_png`, IoError if it cannot be written.
void write_png(const std::filesystem::path& path,
               int width,
               int height,
               std::span<const std::uint8_t> rgb);

}  // namespace learn
