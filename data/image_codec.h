#pragma once
#include "data/image.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace learn::data {

/// A image's header may claim any size; above this many pixels nothing is reserved for it.
inline constexpr std::int64_t kMaxPixels = 64 << 20;

struct DecodeOptions {
  std::int64_t channels = 3;  ///< 3: RGB; 1: grey, the brightness (luma) of coloured ones
  std::int64_t max_pixels = kMaxPixels;
};

/// Decodes a whole JPEG, PNG, WebP, TIFF or BMP file, told apart by its first bytes, whatever the
/// file is called. Grey, palette, 16-bit and CMYK images become RGB; an alpha channel is dropped;
/// the image is turned upright as its EXIF orientation (a TIFF's own) says. Of a TIFF of several
/// pages the first is read. Refused are animated WebP, BMP that is compressed, TIFF of floating
/// point. Damage of any kind is a DataError, whose text does not name the file; warnings of the
/// JPEG decoder are damage, for it warns where data are missing, those of libpng and libtiff, about
/// tags and chunks that they do not know, are not.
[[nodiscard]] Image decode_image(std::span<const std::uint8_t> file,
                                 const DecodeOptions& options = {});

/// The image with that number of channels, 1 or 3: luma by ITU-R BT.601, as PIL has it; grey is
/// spread. Throws UsageError for another number.
[[nodiscard]] Image with_channels(Image image, std::int64_t channels);

/// "JPEG", "PNG", "WebP", "TIFF" or "BMP" by these first bytes of a file, empty for none of them.
[[nodiscard]] const char* image_format(std::span<const std::uint8_t> file);

/// Whether it ends in an extension of `image_extensions`, in small or capital letters.
[[nodiscard]] bool has_image_name(const std::filesystem::path& file);
/// ".jpg, .jpeg, ... or .dib", for messages.
[[nodiscard]] std::string image_extensions();

/// So many first bytes of a file tell its format.
inline constexpr std::size_t kFormatBytes = 12;

}  // namespace learn::data
