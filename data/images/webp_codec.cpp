#include "data/images/exif.h"
#include "data/images/image_formats.h"
#include "framework/core/error.h"

#include <webp/decode.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace learn::data {
namespace {

constexpr std::size_t kFileHeader = 12;  ///< "RIFF", its length, "WEBP"
constexpr std::size_t kChunkHeader = 8;  ///< kind, length

/// Checks that the file is complete, because the decoder would not notice missing data after the
/// pixels. Returns the EXIF block; empty without one.
Bytes check_webp_chunks(Bytes file) {
  if (file.size() < kFileHeader || little_endian(file, 4, 4) > file.size() - kChunkHeader)
    fail<DataError>("damaged WebP: it ends too early");
  const std::size_t end = kChunkHeader + little_endian(file, 4, 4);
  Bytes exif;
  for (std::size_t at = kFileHeader; at + kChunkHeader <= end;) {
    const std::string_view kind(reinterpret_cast<const char*>(&file[at]), 4);
    const std::size_t length = little_endian(file, at + 4, 4);
    if (length > end - at - kChunkHeader)
      fail<DataError>("damaged WebP: the part at byte {} is longer than the file", at);
    if (kind == "EXIF") exif = file.subspan(at + kChunkHeader, length);
    at += kChunkHeader + length + length % 2;
  }
  return exif;
}

const char* text_of(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_BITSTREAM_ERROR:
      return "invalid data";
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "it ends too early";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "it uses a feature that the decoder does not support";
    default:
      return "it cannot be decoded";
  }
}

}  // namespace

Image decode_webp(Bytes file, std::int64_t max_pixels) {
  const Bytes exif = check_webp_chunks(file);
  WebPDecoderConfig config;
  const auto require = [](VP8StatusCode status) {
    if (status != VP8_STATUS_OK) fail<DataError>("damaged WebP: {}", text_of(status));
  };
  if (WebPInitDecoderConfig(&config) == 0)
    fail<Error>("libwebp has another version than the one this was built with");
  require(WebPGetFeatures(file.data(), file.size(), &config.input));
  if (config.input.has_animation != 0)
    fail<DataError>("animated WebP is not supported: save one of its images");
  Image image = sized_image(config.input.width, config.input.height, max_pixels);
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = image.pixels.data();
  config.output.u.RGBA.stride = static_cast<int>(image.width * 3);
  config.output.u.RGBA.size = image.pixels.size();
  require(WebPDecode(file.data(), file.size(), &config));
  return upright(std::move(image), exif_orientation(exif));
}

}  // namespace learn::data
