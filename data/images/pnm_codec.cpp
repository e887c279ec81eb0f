#include "data/images/image_formats.h"
#include "framework/core/error.h"

#include <algorithm>
#include <cmath>

namespace learn::data {
namespace {

bool is_blank(std::uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Reads PBM, PGM and PPM, "P1" to "P6": as text or bytes, with one bit per pixel, grey or
/// coloured.
class PnmReader {
 public:
  PnmReader(Bytes file, std::int64_t max_pixels)
      : file_(file), kind_(file[1] - '0'), max_pixels_(max_pixels) {}

  Image read() {
    const bool bits = kind_ == 1 || kind_ == 4;
    const std::int64_t width = number();
    const std::int64_t height = number();
    largest_ = bits ? 1 : number();
    if (largest_ < 1 || largest_ > 65535)
      fail<DataError>("damaged PNM: its largest value is {}, not 1 to 65535", largest_);
    const bool text = kind_ <= 3;
    if (!text) ++at_;  // one blank
    Image image = sized_image(width, height, max_pixels_);
    const bool coloured = kind_ == 3 || kind_ == 6;
    auto to = image.pixels.begin();
    for (std::int64_t y = 0; y < height; ++y) {
      bits_left_ = 0;  // a row of bits starts at a byte
      for (std::int64_t x = 0; x < width * (coloured ? 3 : 1); ++x) {
        const std::int64_t value = text ? (bits ? digit() : number()) : bits ? bit() : sample();
        const std::uint8_t byte = scaled(bits ? 1 - value : value);
        to = std::fill_n(to, coloured ? 1 : 3, byte);
      }
    }
    return image;
  }

 private:
  std::uint8_t byte() {
    if (at_ >= file_.size()) fail<DataError>("damaged PNM: it ends too early");
    return file_[at_++];
  }

  void skip_blanks() {
    while (at_ < file_.size() && (is_blank(file_[at_]) || file_[at_] == '#')) {
      if (file_[at_++] != '#') continue;
      while (at_ < file_.size() && file_[at_] != '\n' && file_[at_] != '\r') ++at_;
    }
  }

  std::int64_t digit() {
    skip_blanks();
    const std::int64_t value = byte() - '0';
    if (value < 0 || value > 9) fail<DataError>("damaged PNM: no number at byte {}", at_ - 1);
    return value;
  }

  std::int64_t number() {
    std::int64_t value = digit();
    constexpr std::int64_t kEnough = 1 << 30;
    while (at_ < file_.size() && file_[at_] >= '0' && file_[at_] <= '9')
      value = std::min(value * 10 + (file_[at_++] - '0'), kEnough);
    return value;
  }

  std::int64_t bit() {
    if (bits_left_ == 0) {
      bits_ = byte();
      bits_left_ = 8;
    }
    return (bits_ >> --bits_left_) & 1U;
  }

  std::int64_t sample() {
    const std::int64_t high = byte();
    return largest_ < 256 ? high : high * 256 + byte();
  }

  [[nodiscard]] std::uint8_t scaled(std::int64_t value) const {
    if (value < 0 || value > largest_)
      fail<DataError>("damaged PNM: value {} at byte {}, the largest is {}", value, at_, largest_);
    // Rounds as PIL does.
    return static_cast<std::uint8_t>(
        std::lrint(static_cast<double>(value) / static_cast<double>(largest_) * 255));
  }

  Bytes file_;
  std::size_t at_ = 2;
  int kind_;
  std::int64_t max_pixels_;
  std::int64_t largest_ = 0;
  unsigned bits_ = 0;
  int bits_left_ = 0;
};

}  // namespace

Image decode_pnm(Bytes file, std::int64_t max_pixels) { return PnmReader(file, max_pixels).read(); }

}  // namespace learn::data
