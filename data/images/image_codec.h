#pragma once
#include "data/images/image.h"

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

/// Decodes a whole JPEG, PNG, WebP, TIFF, BMP, GIF or PNM (PBM, PGM, PPM) file. The first bytes
/// decide which it is, not the file's name. Grey, palette, 16-bit and CMYK images become RGB; alpha
/// and other further channels are dropped, and colours stay as they are stored: neither alpha,
/// PNG's gAMA nor a colour profile changes them. The image is turned upright as its EXIF block says
/// (PNG: eXIf, else ImageMagick's profile; TIFF: its own tag); an orientation in XMP alone does not
/// count. Of a TIFF of several pages and an animated GIF the first image is read. Refused are
/// animated WebP, BMP that is compressed, TIFF of floating point.
///
/// Damage that costs pixels is a DataError, whose text does not name the file. A JPEG file whose
/// pixels are all there is read, whatever else is wrong with it: without its end mark, with bytes
/// between its segments, with odd versions in its headers. A file that is something else than an
/// image is a DataError that says what it is and what to do (other_content.h).
[[nodiscard]] Image decode_image(std::span<const std::uint8_t> file,
                                 const DecodeOptions& options = {});

/// The image with that number of channels, 1 or 3: luma by ITU-R BT.601, as PIL has it; grey is
/// spread. Throws UsageError for another number.
[[nodiscard]] Image with_channels(Image image, std::int64_t channels);

/// The format's name, one of `image_formats`, by these first bytes of a file; empty for others.
[[nodiscard]] const char* image_format(std::span<const std::uint8_t> file);

/// Whether it ends in an extension of `image_extensions`, in small or capital letters.
[[nodiscard]] bool has_image_name(const std::filesystem::path& file);
/// ".jpg, .jpeg, ... or .pnm", for messages.
[[nodiscard]] std::string image_extensions();
/// "JPEG, PNG, WebP, TIFF, BMP, GIF or PNM", for messages.
[[nodiscard]] std::string image_formats();

/// So many first bytes of a file tell its format.
inline constexpr std::size_t kFormatBytes = 12;

}  // namespace learn::data
