#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace learn {

/// An image of 8-bit RGB pixels, row by row from the top, `3 * width * height` bytes, as a PNG
/// file. Throws UsageError for a size that does not fit the pixels.
[[nodiscard]] std::vector<std::byte> encode_png(int width,
                                                int height,
                                                std::span<const std::uint8_t> rgb);

/// Writes what `encode_png` makes. Atomic. Throws as that, and IoError if it cannot be written.
void write_png(const std::filesystem::path& path,
               int width,
               int height,
               std::span<const std::uint8_t> rgb);

}  // namespace learn
