#include "data/image_codec.h"

#include "data/exif.h"
#include "framework/core/error.h"

#include <png.h>
#include <turbojpeg.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <string_view>

namespace learn::data {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::array<std::uint8_t, 3> kJpeg{0xFF, 0xD8, 0xFF};
constexpr std::array<std::uint8_t, 8> kPng{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

template <std::size_t n>
bool begins_with(Bytes file, const std::array<std::uint8_t, n>& magic) {
  return file.size() >= n && std::equal(magic.begin(), magic.end(), file.begin());
}

/// Sizes the image, or throws before any memory is reserved for it.
Image sized(std::int64_t width, std::int64_t height, std::int64_t max_pixels) {
  if (width <= 0 || height <= 0 || width > max_pixels / height)
    fail<DataError>("image of {}x{} pixels; at most {} pixels are read", width, height, max_pixels);
  Image image;
  image.height = height;
  image.width = width;
  image.pixels.resize(static_cast<std::size_t>(height * width * 3));
  return image;
}

/// CMYK as JPEG files have it, by Adobe's habit: 255 means no ink.
void cmyk_to_rgb(const std::vector<std::uint8_t>& cmyk, std::vector<std::uint8_t>& rgb) {
  for (std::size_t i = 0; i < rgb.size() / 3; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      rgb[3 * i + c] = static_cast<std::uint8_t>(cmyk[4 * i + c] * cmyk[4 * i + 3] / 255);
}

Image decode_jpeg(Bytes file, std::int64_t max_pixels) {
  const std::unique_ptr<void, decltype(&tjDestroy)> handle(tjInitDecompress(), &tjDestroy);
  if (handle == nullptr) fail<Error>("the JPEG decoder cannot start: {}", tjGetErrorStr2(nullptr));
  const auto size = static_cast<unsigned long>(file.size());
  int width = 0;
  int height = 0;
  int subsampling = 0;
  int colorspace = 0;
  if (tjDecompressHeader3(
          handle.get(), file.data(), size, &width, &height, &subsampling, &colorspace) != 0)
    fail<DataError>("damaged JPEG header: {}", tjGetErrorStr2(handle.get()));
  // A file of tables only is not an error to the decoder.
  if (width <= 0 || height <= 0)
    fail<DataError>("damaged JPEG: it has no frame header, which says how large the image is");
  Image image = sized(width, height, max_pixels);
  const bool cmyk = colorspace == TJCS_CMYK || colorspace == TJCS_YCCK;
  std::vector<std::uint8_t> inks(cmyk ? image.pixels.size() / 3 * 4 : 0);
  // LIMITSCANS: a small progressive file may otherwise keep the decoder busy for hours.
  const int flags = TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS;
  if (tjDecompress2(handle.get(),
                    file.data(),
                    size,
                    cmyk ? inks.data() : image.pixels.data(),
                    width,
                    0,
                    height,
                    cmyk ? TJPF_CMYK : TJPF_RGB,
                    flags) != 0)
    fail<DataError>("damaged JPEG: {}", tjGetErrorStr2(handle.get()));
  if (cmyk) cmyk_to_rgb(inks, image.pixels);
  return upright(std::move(image), exif_orientation(exif_of_jpeg(file)));
}

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

Image decode_png(Bytes file, std::int64_t max_pixels) {
  const Bytes exif = check_png_chunks(file);
  PngReader reader;
  reader.require(png_image_begin_read_from_memory(&reader.image, file.data(), file.size()));
  reader.image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16-bit files are as bright as 8-bit ones
  Image image = sized(reader.image.width, reader.image.height, max_pixels);
  const bool alpha = (reader.image.format & PNG_FORMAT_FLAG_ALPHA) != 0;
  reader.image.format = alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  std::vector<std::uint8_t> with_alpha(alpha ? image.pixels.size() / 3 * 4 : 0);
  reader.require(png_image_finish_read(
      &reader.image, nullptr, alpha ? with_alpha.data() : image.pixels.data(), 0, nullptr));
  for (std::size_t i = 0; i < with_alpha.size() / 4; ++i)
    std::copy_n(&with_alpha[4 * i], 3, &image.pixels[3 * i]);
  return upright(std::move(image), exif_orientation(exif));
}

}  // namespace

Image decode_image(Bytes file, std::int64_t max_pixels) {
  if (file.empty()) fail<DataError>("the file is empty");
  if (begins_with(file, kJpeg)) return decode_jpeg(file, max_pixels);
  if (begins_with(file, kPng)) return decode_png(file, max_pixels);
  fail<DataError>("neither a JPEG nor a PNG file");
}

bool has_image_name(const std::filesystem::path& file) {
  std::string extension = file.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

bool begins_like_image(Bytes file) { return begins_with(file, kJpeg) || begins_with(file, kPng); }

}  // namespace learn::data
