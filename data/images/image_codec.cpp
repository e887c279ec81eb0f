#include "data/images/image_codec.h"

#include "data/images/image_formats.h"
#include "data/images/other_content.h"
#include "data/names/names.h"
#include "framework/core/error.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace learn::data {
namespace {

using namespace std::string_view_literals;

struct Format {
  const char* name;
  std::string_view start;
  std::string_view at_eight;  ///< content at byte 8; the start alone occurs in other containers,
                              ///< too
  Image (*decode)(Bytes, std::int64_t);
};

constexpr std::array kFormats{Format{"JPEG", "\xFF\xD8\xFF"sv, ""sv, decode_jpeg},
                              Format{"PNG", "\x89PNG\r\n\x1A\n"sv, ""sv, decode_png},
                              Format{"WebP", "RIFF"sv, "WEBP"sv, decode_webp},
                              Format{"TIFF", "II*\0"sv, ""sv, decode_tiff},
                              Format{"TIFF", "MM\0*"sv, ""sv, decode_tiff},
                              Format{"TIFF", "II+\0"sv, ""sv, decode_tiff},  // above 4 GiB
                              Format{"TIFF", "MM\0+"sv, ""sv, decode_tiff},
                              Format{"BMP", "BM"sv, ""sv, decode_bmp},
                              Format{"GIF", "GIF87a"sv, ""sv, decode_gif},
                              Format{"GIF", "GIF89a"sv, ""sv, decode_gif},
                              Format{"PNM", "P1"sv, ""sv, decode_pnm},
                              Format{"PNM", "P2"sv, ""sv, decode_pnm},
                              Format{"PNM", "P3"sv, ""sv, decode_pnm},
                              Format{"PNM", "P4"sv, ""sv, decode_pnm},
                              Format{"PNM", "P5"sv, ""sv, decode_pnm},
                              Format{"PNM", "P6"sv, ""sv, decode_pnm}};

constexpr std::array kExtensions{".jpg",
                                 ".jpeg",
                                 ".jpe",
                                 ".jfif",
                                 ".jif",
                                 ".pjpeg",
                                 ".pjp",
                                 ".png",
                                 ".webp",
                                 ".tif",
                                 ".tiff",
                                 ".bmp",
                                 ".dib",
                                 ".gif",
                                 ".pbm",
                                 ".pgm",
                                 ".ppm",
                                 ".pnm"};

bool holds(Bytes file, std::size_t at, std::string_view text) {
  if (text.empty()) return true;
  return file.size() >= at + text.size() &&
         std::ranges::equal(text, file.subspan(at, text.size()), [](char a, std::uint8_t b) {
           return static_cast<std::uint8_t>(a) == b;
         });
}

const Format* format_of(Bytes file) {
  const auto found = std::ranges::find_if(kFormats, [&](const Format& format) {
    return holds(file, 0, format.start) && holds(file, 8, format.at_eight);
  });
  return found == kFormats.end() ? nullptr : &*found;
}

}  // namespace

Image sized_image(std::int64_t width, std::int64_t height, std::int64_t max_pixels) {
  if (width <= 0 || height <= 0 || width > max_pixels / height)
    fail<DataError>("image of {}x{} pixels; at most {} pixels are read", width, height, max_pixels);
  Image image;
  image.height = height;
  image.width = width;
  image.pixels.resize(static_cast<std::size_t>(height * width * 3));
  return image;
}

Image decode_image(Bytes file, const DecodeOptions& options) {
  if (file.empty()) fail<DataError>("the file is empty");
  const Format* format = format_of(file);
  if (format == nullptr) {
    const OtherContent other = other_content(file);
    if (other.name.empty()) fail<DataError>("it is not {}", image_formats());
    fail<DataError>("it is {}, not {}: {}", other.name, image_formats(), other.advice);
  }
  return with_channels(format->decode(file, options.max_pixels), options.channels);
}

Image with_channels(Image image, std::int64_t channels) {
  check<UsageError>(
      channels == 1 || channels == 3, "images must have 1 or 3 channels, not {}", channels);
  if (image.channels == channels) return image;
  Image out{image.height, image.width, {}, channels};
  const auto pixels = static_cast<std::size_t>(image.height * image.width);
  out.pixels.resize(pixels * static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < pixels; ++i) {
    if (channels == 3) {
      std::fill_n(&out.pixels[3 * i], 3, image.pixels[i]);
      continue;
    }
    const std::uint8_t* rgb = &image.pixels[3 * i];
    out.pixels[i] = static_cast<std::uint8_t>(
        (rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >> 16U);
  }
  return out;
}

const char* image_format(Bytes file) {
  const Format* format = format_of(file);
  return format == nullptr ? "" : format->name;
}

bool has_image_name(std::string_view file) {
  const std::string_view name = file.substr(file.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string extension = in_small_letters(std::string(name.substr(dot)));
  return std::ranges::find(kExtensions, extension) != kExtensions.end();
}

std::string image_extensions() {
  return join_or(std::vector<std::string>(kExtensions.begin(), kExtensions.end()));
}

std::string image_formats() {
  std::vector<std::string> names;
  for (const Format& format : kFormats)
    if (names.empty() || names.back() != format.name) names.emplace_back(format.name);
  return join_or(names);
}

}  // namespace learn::data
