#pragma once
#include <cstdint>
#include <filesystem>
#include <span>

namespace learn {

/// Writes an image of 8-bit RGB pixels, row by row from the top: `3 * width * height` bytes.
/// Atomic. Throws UsageError for a size that does not fit the pixels, IoError if it cannot be
/// written.
void write_png(const std::filesystem::path& path,
               int width,
               int height,
               std::span<const std::uint8_t> rgb);

}  // namespace learn
