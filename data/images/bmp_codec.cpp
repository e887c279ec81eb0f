#include "data/images/image_formats.h"
#include "framework/core/error.h"

#include <algorithm>
#include <memory>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_FAILURE_USERMSG
#include <stb_image.h>

namespace learn::data {
namespace {

constexpr std::size_t kFileHeader = 14;
constexpr std::uint32_t kOldHeader = 12;  ///< header of OS/2, with 16-bit numbers

struct Header {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t bits = 0;  ///< bits per pixel
  std::uint32_t compression = 0;
  std::int64_t pixels_at = 0;
};

Header header_of(Bytes file) {
  constexpr std::size_t kNewHeader = 40;
  const auto too_short = [&](std::size_t needed) { return file.size() < kFileHeader + needed; };
  if (too_short(kOldHeader)) fail<DataError>("damaged BMP: it ends in its header");
  const std::uint32_t size = little_endian(file, kFileHeader, 4);
  if (size != kOldHeader && too_short(kNewHeader))
    fail<DataError>("damaged BMP: it ends in its header");
  const auto number = [&](std::size_t at, std::size_t bytes) {
    return static_cast<std::int64_t>(little_endian(file, at, bytes));
  };
  Header header{.pixels_at = number(10, 4)};
  if (size == kOldHeader) {
    header.width = number(18, 2);
    header.height = number(20, 2);
    header.bits = number(24, 2);
    return header;
  }
  // A negative height means that the first row is at the top.
  header.width = static_cast<std::int32_t>(little_endian(file, 18, 4));
  header.height = std::abs(std::int64_t{static_cast<std::int32_t>(little_endian(file, 22, 4))});
  header.bits = number(28, 2);
  header.compression = little_endian(file, 30, 4);
  return header;
}

}  // namespace

Image decode_bmp(Bytes file, std::int64_t max_pixels) {
  const Header header = header_of(file);
  constexpr std::uint32_t kMasks = 3;  // masks select the bits of each colour; not compressed
  if (header.compression != 0 && header.compression != kMasks)
    fail<DataError>("compressed BMP (kind {}) is not supported: save it as PNG",
                    header.compression);
  Image image = sized_image(header.width, header.height, max_pixels);
  // The library fills missing data with zeros.
  const std::int64_t row = (header.width * header.bits + 31) / 32 * 4;
  const std::int64_t end = header.pixels_at + row * header.height;
  if (end > static_cast<std::int64_t>(file.size()))
    fail<DataError>("damaged BMP: its pixels end at byte {}, the file at {}", end, file.size());
  int width = 0;
  int height = 0;
  int channels = 0;
  const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> pixels(
      stbi_load_from_memory(
          file.data(), static_cast<int>(file.size()), &width, &height, &channels, 3),
      &stbi_image_free);
  if (pixels == nullptr || width != header.width || height != header.height)
    fail<DataError>("damaged BMP: {}",
                    pixels == nullptr ? stbi_failure_reason() : "it has two headers that disagree");
  std::copy_n(pixels.get(), image.pixels.size(), image.pixels.begin());
  return image;
}

}  // namespace learn::data
