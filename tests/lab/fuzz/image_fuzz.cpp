// Reads any file as an image. Generated PNG files almost never have the right checksums, so they
// are also read with repaired ones.
#include "data/images/image_codec.h"
#include "tests/lab/fuzz/fuzz.h"

#include <zlib.h>

#include <vector>

using namespace learn;

namespace {

void decode(std::span<const std::uint8_t> file) {
  // A few pixels are as good as many, and quicker.
  constexpr std::int64_t kPixels = 1 << 16;
  fuzz::may_refuse({ExitCode::data}, [&] {
    const data::Image image = data::decode_image(file, {.max_pixels = kPixels});
    fuzz::require(image.height > 0 && image.width > 0 && image.height * image.width <= kPixels);
    fuzz::require(static_cast<std::int64_t>(image.pixels.size()) == image.height * image.width * 3);
  });
}

std::vector<std::uint8_t> with_checksums(std::span<const std::uint8_t> png) {
  std::vector<std::uint8_t> file(png.begin(), png.end());
  constexpr std::size_t kFrame = 12;  // length, kind, checksum
  for (std::size_t at = 8; at + kFrame <= file.size();) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = (length << 8U) | file[at + i];
    if (length > file.size() - at - kFrame) break;
    const auto sum = crc32(0, &file[at + 4], static_cast<uInt>(length + 4));
    for (std::size_t i = 0; i < 4; ++i)
      file[at + 8 + length + i] = static_cast<std::uint8_t>(sum >> (24 - 8 * i));
    at += length + kFrame;
  }
  return file;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  decode({bytes, size});
  if (size > 1 && bytes[1] == 'P') decode(with_checksums({bytes, size}));
  return 0;
}
