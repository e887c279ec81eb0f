#pragma once
#include "data/images/image.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace learn::data {

/// Limit on the pixels of an image. A header may claim any size; no memory is reserved above this.
inline constexpr std::int64_t kMaxPixels = 64 << 20;

struct DecodeOptions {
  std::int64_t channels = 3;  ///< 3: RGB; 1: grey, the luma of coloured images
  std::int64_t max_pixels = kMaxPixels;
};

/// Decodes a whole JPEG, PNG, WebP, TIFF, BMP, GIF or PNM (PBM, PGM, PPM) file. The first bytes
/// determine the format, not the file's name. Grey, palette, 16-bit and CMYK images become RGB.
/// Alpha and other further channels are dropped, and colours stay as stored: alpha, PNG's gAMA and
/// colour profiles do not change them. The image is turned upright according to its EXIF block
/// (PNG: eXIf, else ImageMagick's profile; TIFF: its own tag); an orientation in XMP alone is
/// ignored. Only the first image of a multi-page TIFF or an animated GIF is read. Animated WebP,
/// compressed BMP and floating-point TIFF are refused.
///
/// Damage that costs pixels is a DataError, whose text does not name the file. A JPEG file whose
/// pixels are complete is read despite other errors, such as a missing end mark, bytes between its
/// segments or odd versions in its headers. A file that is not an image is a DataError that names
/// its type and the remedy (other_content.h).
[[nodiscard]] Image decode_image(std::span<const std::uint8_t> file,
                                 const DecodeOptions& options = {});

/// Converts the image to 1 or 3 channels: grey is luma by ITU-R BT.601, as in PIL; grey images are
/// replicated to RGB. Throws UsageError for another number.
[[nodiscard]] Image with_channels(Image image, std::int64_t channels);

/// Returns the format, one of `image_formats`, that these first bytes of a file indicate; else
/// empty.
[[nodiscard]] const char* image_format(std::span<const std::uint8_t> file);

/// Returns whether the name ends in an extension of `image_extensions`, in any case.
[[nodiscard]] bool has_image_name(std::string_view file);
/// Returns ".jpg, .jpeg, ... or .pnm", for messages.
[[nodiscard]] std::string image_extensions();
/// Returns "JPEG, PNG, WebP, TIFF, BMP, GIF or PNM", for messages.
[[nodiscard]] std::string image_formats();

/// Number of first bytes of a file that determine its format.
inline constexpr std::size_t kFormatBytes = 12;

}  // namespace learn::data
