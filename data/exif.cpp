#include "data/exif.h"

#include <libexif/exif-data.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

namespace learn::data {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::string_view kHeader("Exif\0\0", 6);

bool begins_with(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin(), [](char a, std::uint8_t b) {
           return static_cast<std::uint8_t>(a) == b;
         });
}

}  // namespace

Bytes exif_of_jpeg(Bytes file) {
  constexpr std::uint8_t kApp1 = 0xE1;
  constexpr std::uint8_t kStartOfScan = 0xDA;
  // Behind the start of the image come segments: 0xFF, kind, two bytes of length, which count
  // themselves.
  for (std::size_t at = 2; at + 4 <= file.size() && file[at] == 0xFF;) {
    const std::uint8_t kind = file[at + 1];
    if (kind == 0xFF) {  // a byte that fills
      ++at;
      continue;
    }
    const std::size_t length = (std::size_t{file[at + 2]} << 8U) | file[at + 3];
    if (kind == kStartOfScan || length < 2 || length > file.size() - at - 2) break;
    const Bytes content = file.subspan(at + 4, length - 2);
    if (kind == kApp1 && begins_with(content, kHeader)) return content.subspan(kHeader.size());
    at += 2 + length;
  }
  return {};
}

Bytes without_exif_header(Bytes block) {
  return begins_with(block, kHeader) ? block.subspan(kHeader.size()) : block;
}

int exif_orientation(Bytes tiff) {
  if (tiff.empty()) return 1;
  std::vector<std::uint8_t> block(kHeader.begin(), kHeader.end());
  block.insert(block.end(), tiff.begin(), tiff.end());
  const std::unique_ptr<ExifData, decltype(&exif_data_unref)> data(exif_data_new(),
                                                                   &exif_data_unref);
  if (data == nullptr) return 1;
  // Which would add tags that the file does not have.
  exif_data_unset_option(data.get(), EXIF_DATA_OPTION_FOLLOW_SPECIFICATION);
  exif_data_load_data(data.get(), block.data(), static_cast<unsigned>(block.size()));
  const ExifEntry* entry = exif_content_get_entry(data->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION);
  if (entry == nullptr || entry->format != EXIF_FORMAT_SHORT || entry->size < 2) return 1;
  const int value = exif_get_short(entry->data, exif_data_get_byte_order(data.get()));
  return value >= 1 && value <= 8 ? value : 1;
}

Image upright(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  const std::int64_t height = image.height;
  const std::int64_t width = image.width;
  const bool turned = orientation >= 5;
  Image out{turned ? width : height, turned ? height : width, {}};
  out.pixels.resize(image.pixels.size());
  // The first row and column of the file are, by the standard: 2 top right, 3 bottom right,
  // 4 bottom left, 5 left top, 6 right top, 7 right bottom, 8 left bottom.
  const auto source = [&](std::int64_t y, std::int64_t x) -> std::pair<std::int64_t, std::int64_t> {
    switch (orientation) {
      case 2:
        return {y, width - 1 - x};
      case 3:
        return {height - 1 - y, width - 1 - x};
      case 4:
        return {height - 1 - y, x};
      case 5:
        return {x, y};
      case 6:
        return {height - 1 - x, y};
      case 7:
        return {height - 1 - x, width - 1 - y};
      default:
        return {x, width - 1 - y};
    }
  };
  auto to = out.pixels.begin();
  for (std::int64_t y = 0; y < out.height; ++y)
    for (std::int64_t x = 0; x < out.width; ++x) {
      const auto [row, column] = source(y, x);
      to = std::copy_n(image.pixels.begin() + (row * width + column) * 3, 3, to);
    }
  return out;
}

}  // namespace learn::data
