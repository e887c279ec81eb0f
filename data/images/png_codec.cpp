#include "data/images/exif.h"
#include "data/images/image_formats.h"
#include "framework/core/error.h"

#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <optional>
#include <string>
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

  /// libpng reports harmless problems as warnings (1) and continues; errors are 2 and above.
  void require(int ok) const {
    if (ok == 0 || image.warning_or_error > 1) fail<DataError>("damaged PNG: {}", image.message);
  }
};

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return (std::uint32_t{bytes[0]} << 24U) | (std::uint32_t{bytes[1]} << 16U) |
         (std::uint32_t{bytes[2]} << 8U) | bytes[3];
}

constexpr std::size_t kSignature = 8;
constexpr std::size_t kFrame = 12;  // length, type, checksum

/// The parts read from a file: the chunks that the pixels need, and the orientation.
struct PngParts {
  std::vector<std::uint8_t> pixels;  ///< a PNG file
  std::optional<int> exif;           ///< the orientation from eXIf
  std::optional<int> profile;        ///< from a text chunk of ImageMagick
};

std::string inflated(Bytes packed) {
  constexpr std::size_t kMax = 1 << 20;  // an EXIF block has at most 64 KiB, two digits per byte
  std::string text(kMax, '\0');
  z_stream stream{};
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(kMax);
  if (inflateInit(&stream) != Z_OK) return {};
  const bool whole = inflate(&stream, Z_FINISH) == Z_STREAM_END;
  inflateEnd(&stream);
  text.resize(whole ? stream.total_out : 0);
  return text;
}

/// Returns the orientation from ImageMagick's EXIF profile in a tEXt, zTXt or iTXt chunk; nothing
/// for other chunks.
std::optional<int> orientation_of_text(std::string_view type, Bytes content) {
  if (type != "tEXt" && type != "zTXt" && type != "iTXt") return std::nullopt;
  std::string_view rest(reinterpret_cast<const char*>(content.data()), content.size());
  const auto take = [&](std::size_t bytes) {
    const std::string_view taken = rest.substr(0, bytes);
    rest.remove_prefix(taken.size());
    return taken;
  };
  const std::string_view key = take(rest.find('\0'));
  if (key != "Raw profile type exif" && key != "Raw profile type APP1") return std::nullopt;
  take(1);
  bool packed = type == "zTXt";
  if (packed) take(1);  // the method: only one is defined
  if (type == "iTXt") {
    packed = take(2).starts_with('\1');
    for (int text = 0; text < 2; ++text) {  // the language, and the translated keyword
      take(rest.find('\0'));
      take(1);
    }
  }
  const std::string text = packed ? inflated(content.last(rest.size())) : std::string(rest);
  return exif_orientation(exif_of_profile(text));
}

/// Checks that every chunk is complete and has the right checksum, because libpng stops at the last
/// row of pixels and would miss later damage. Passes only the chunks with pixels, palette and
/// transparency to libpng. With others, mainly gAMA, it would change colours, which other programs
/// that train or run models do not do.
PngParts parts_of(Bytes file) {
  PngParts parts;
  const auto keep = [&](std::size_t at, std::size_t bytes) {
    parts.pixels.insert(parts.pixels.end(), &file[at], &file[at] + bytes);
  };
  keep(0, kSignature);
  for (std::size_t at = kSignature; file.size() - at >= kFrame;) {
    const std::uint8_t* chunk = &file[at];
    const std::size_t length = big_endian(chunk);
    if (length > file.size() - at - kFrame) break;
    const auto sum = crc32(0, chunk + 4, static_cast<uInt>(length + 4));
    const std::string_view type(reinterpret_cast<const char*>(chunk + 4), 4);
    if (sum != big_endian(chunk + 8 + length))
      fail<DataError>("damaged PNG: wrong checksum of the chunk at byte {}", at);
    const Bytes content = file.subspan(at + 8, length);
    constexpr unsigned char kAncillary = 0x20;
    if ((chunk[4] & kAncillary) == 0 || type == "tRNS") keep(at, length + kFrame);
    if (type == "eXIf") parts.exif = exif_orientation(content);
    if (!parts.profile) parts.profile = orientation_of_text(type, content);
    if (type == "IEND") return parts;
    at += length + kFrame;
  }
  fail<DataError>("damaged PNG: it ends too early");
}

}  // namespace

Image decode_png(Bytes file, std::int64_t max_pixels) {
  const PngParts parts = parts_of(file);
  PngReader reader;
  reader.require(
      png_image_begin_read_from_memory(&reader.image, parts.pixels.data(), parts.pixels.size()));
  reader.image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16-bit files get the same brightness as 8-bit
                                                    // ones
  Image image = sized_image(reader.image.width, reader.image.height, max_pixels);
  const bool alpha = (reader.image.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  reader.image.format = alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  std::vector<std::uint8_t> with_alpha(alpha ? image.pixels.size() / 3 * 4 : 0);
  reader.require(png_image_finish_read(
      &reader.image, nullptr, alpha ? with_alpha.data() : image.pixels.data(), 0, nullptr));
  for (std::size_t i = 0; i < with_alpha.size() / 4; ++i)
    std::copy_n(&with_alpha[4 * i], 3, &image.pixels[3 * i]);
  return upright(std::move(image), parts.exif.value_or(parts.profile.value_or(1)));
}

}  // namespace learn::data
