#include "data/images/exif.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace learn::data {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::string_view kHeader("Exif\0\0", 6);

/// Numbers of a TIFF block in its byte order. Reads past its end return nothing.
class TiffNumbers {
 public:
  explicit TiffNumbers(Bytes block) : block_(block), little_(!block.empty() && block[0] == 'I') {}

  [[nodiscard]] std::optional<std::uint64_t> at(std::uint64_t place, std::size_t bytes) const {
    if (place > block_.size() || bytes > block_.size() - place) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      value = (value << 8U) | block_[place + (little_ ? bytes - 1 - i : i)];
    return value;
  }

 private:
  Bytes block_;
  bool little_;
};

/// Returns the size in bytes of one of TIFF's integer types; 0 for other types.
std::size_t bytes_of_type(std::uint64_t type) {
  switch (type) {
    case 6:  // SBYTE
      return 1;
    case 3:  // SHORT
    case 8:  // SSHORT
      return 2;
    case 4:   // LONG
    case 9:   // SLONG
    case 13:  // IFD
      return 4;
    case 16:  // LONG8
      return 8;
    default:
      return 0;
  }
}

}  // namespace

bool has_exif_header(Bytes block) {
  return block.size() >= kHeader.size() &&
         std::ranges::equal(kHeader, block.first(kHeader.size()), [](char a, std::uint8_t b) {
           return static_cast<std::uint8_t>(a) == b;
         });
}

int exif_orientation(Bytes block) {
  while (has_exif_header(block)) block = block.subspan(kHeader.size());
  constexpr std::uint64_t kVersion = 42;
  constexpr std::uint64_t kOrientation = 0x0112;
  constexpr std::uint64_t kEntryBytes = 12;  // tag, type, count, value or its offset
  const TiffNumbers numbers(block);
  if (numbers.at(2, 2) != kVersion) return 1;
  const std::uint64_t directory = numbers.at(4, 4).value_or(0);
  const std::uint64_t entries = numbers.at(directory, 2).value_or(0);
  for (std::uint64_t i = 0; i < entries; ++i) {
    const std::uint64_t entry = directory + 2 + i * kEntryBytes;
    const std::optional<std::uint64_t> tag = numbers.at(entry, 2);
    if (!tag) break;
    if (tag != kOrientation) continue;
    const std::size_t bytes = bytes_of_type(numbers.at(entry + 2, 2).value_or(0));
    const std::uint64_t count = numbers.at(entry + 4, 4).value_or(0);
    if (bytes == 0 || count == 0) return 1;
    constexpr std::uint64_t kInPlace = 4;
    const bool elsewhere = count > kInPlace / bytes;
    const std::uint64_t place = elsewhere ? numbers.at(entry + 8, 4).value_or(0) : entry + 8;
    const std::uint64_t value = numbers.at(place, bytes).value_or(1);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

std::vector<std::uint8_t> exif_of_profile(std::string_view text) {
  // An empty line, the profile's name and its length come first.
  for (int line = 0; line < 3; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  std::vector<std::uint8_t> block;
  int digits = 0;
  unsigned value = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ') continue;
    const std::size_t digit = std::string_view("0123456789abcdefABCDEF").find(c);
    if (digit == std::string_view::npos) return {};
    value = value * 16 + static_cast<unsigned>(digit < 16 ? digit : digit - 6);
    if (++digits % 2 != 0) continue;
    block.push_back(static_cast<std::uint8_t>(value));
    value = 0;
  }
  return block;
}

Image upright(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  const std::int64_t height = image.height;
  const std::int64_t width = image.width;
  const bool turned = orientation >= 5;
  Image out{turned ? width : height, turned ? height : width, {}};
  out.pixels.resize(image.pixels.size());
  // By the standard, the first row and column of the file are: 2 top right, 3 bottom right, 4
  // bottom left, 5 left top, 6 right top, 7 right bottom, 8 left bottom.
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
