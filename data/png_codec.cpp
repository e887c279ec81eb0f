#include "data/exif.h"
#include "data/image_formats.h"
#include "framework/core/error.h"

#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace learn::data {
namespace {

struct PngReader {
  png_image image{};
  PngReader() { image.version = PNG_IMAGE_VERSION; }
  ~PngReader() { png_image_free(&image); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  /// libpng reports harmless oddities as warnings (1) and keeps going; errors are 2 and above.
  void require(int ok) const {
    if (ok == 0 || image.warning_or_error > 1) fail<DataError>("damaged PNG: {}", image.message);
  }
};

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return (std::uint32_t{bytes[0]} << 24U) | (std::uint32_t{bytes[1]} << 16U) |
         (std::uint32_t{bytes[2]} << 8U) | bytes[3];
}

/// Every chunk is whole and has its checksum. libpng stops at the last row of pixels and would not
/// see what is wrong behind it. Returns the EXIF block, empty if there is none.
Bytes check_png_chunks(Bytes file) {
  Bytes exif;
  constexpr std::size_t kSignature = 8;
  constexpr std::size_t kFrame = 12;  // length, type, checksum
  for (std::size_t at = kSignature; file.size() - at >= kFrame;) {
    const std::uint8_t* chunk = &file[at];
    const std::size_t length = big_endian(chunk);
    if (length > file.size() - at - kFrame) break;
    const auto sum = crc32(0, chunk + 4, static_cast<uInt>(length + 4));
    const std::string_view type(reinterpret_cast<const char*>(chunk + 4), 4);
    if (sum != big_endian(chunk + 8 + length))
      fail<DataError>("damaged PNG: wrong checksum of the chunk at byte {}", at);
    if (type == "eXIf") exif = file.subspan(at + 8, length);
    if (type == "IEND") return exif;
    at += length + kFrame;
  }
  fail<DataError>("damaged PNG: it ends too early");
}

}  // namespace

Image decode_png(Bytes file, std::int64_t max_pixels) {
  const Bytes exif = check_png_chunks(file);
  PngReader reader;
  reader.require(png_image_begin_read_from_memory(&reader.image, file.data(), file.size()));
  reader.image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16-bit files are as bright as 8-bit ones
  Image image = sized_image(reader.image.width, reader.image.height, max_pixels);
  const bool alpha = (reader.image.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  reader.image.format = alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  std::vector<std::uint8_t> with_alpha(alpha ? image.pixels.size() / 3 * 4 : 0);
  reader.require(png_image_finish_read(
      &reader.image, nullptr, alpha ? with_alpha.data() : image.pixels.data(), 0, nullptr));
  for (std::size_t i = 0; i < with_alpha.size() / 4; ++i)
    std::copy_n(&with_alpha[4 * i], 3, &image.pixels[3 * i]);
  return upright(std::move(image), exif_orientation(exif));
}

}  // namespace learn::data
