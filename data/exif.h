#pragma once
#include "data/image.h"

#include <cstdint>
#include <span>

namespace learn::data {

/// The EXIF block of a JPEG file, as `exif_orientation` takes it; empty if it has none.
[[nodiscard]] std::span<const std::uint8_t> exif_of_jpeg(std::span<const std::uint8_t> file);

/// An EXIF block without the "Exif" header that some programs put before it.
[[nodiscard]] std::span<const std::uint8_t> without_exif_header(
    std::span<const std::uint8_t> block);

/// How a camera was held (EXIF's tag 0x0112), 1 to 8; 1, upright, where `tiff`, an EXIF block
/// without its "Exif" header, does not say it or is damaged.
[[nodiscard]] int exif_orientation(std::span<const std::uint8_t> tiff);

/// The RGB image, turned and mirrored as `orientation` says (1 where that is not in [1, 8]), so
/// that its top is the scene's.
[[nodiscard]] Image upright(Image image, int orientation);

}  // namespace learn::data
