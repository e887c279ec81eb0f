#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace learn {

/// Returns the bytes of a PNG file of 8-bit RGB pixels, row by row from the top:
/// `3 * width * height` bytes of input. Throws UsageError if the size does not match the pixels.
[[nodiscard]] std::string encode_png(int width, int height, std::span<const std::uint8_t> rgb);

/// Writes a PNG file, atomically. Throws as `encode_png` does; IoError if it cannot be written.
void write_png(const std::filesystem::path& path,
               int width,
               int height,
               std::span<const std::uint8_t> rgb);

}  // namespace learn
