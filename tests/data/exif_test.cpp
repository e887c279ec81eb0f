#include "data/exif.h"

#include "data/image_codec.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <array>

using namespace learn;
using namespace learn::data;

namespace {

using Bytes = std::vector<std::uint8_t>;

/// A TIFF block with one tag, the orientation; little or big endian.
Bytes tiff(std::uint8_t orientation, bool little = true) {
  if (little)
    return {'I', 'I', 42, 0, 8, 0,           0, 0, 1, 0, 0x12, 0x01, 3,
            0,   1,   0,  0, 0, orientation, 0, 0, 0, 0, 0,    0,    0};
  return {'M', 'M', 0, 42, 0, 0, 0,           8, 0, 1, 0x01, 0x12, 0,
          3,   0,   0, 0,  1, 0, orientation, 0, 0, 0, 0,    0,    0};
}

void append(Bytes& to, const Bytes& what) { to.insert(to.end(), what.begin(), what.end()); }

/// A JPEG with segments behind its start: XMP, which is of the same kind, then EXIF.
Bytes with_exif(const Bytes& jpeg, const Bytes& block) {
  const auto segment = [](const std::string& header, const Bytes& content) {
    const std::size_t length = 2 + header.size() + content.size();
    Bytes out{
        0xFF, 0xE1, static_cast<std::uint8_t>(length >> 8U), static_cast<std::uint8_t>(length)};
    append(out, {header.begin(), header.end()});
    append(out, content);
    return out;
  };
  Bytes out(jpeg.begin(), jpeg.begin() + 2);
  append(out, segment("http://ns.adobe.com/xap/1.0/", {0, '<', '>'}));
  append(out, segment(std::string("Exif\0\0", 6), block));
  append(out, {jpeg.begin() + 2, jpeg.end()});
  return out;
}

Bytes with_chunk(const Bytes& png, const Bytes& block) {
  constexpr std::size_t kBehindHeader = 8 + 25;
  const auto word = [](std::uint64_t v) {
    return Bytes{static_cast<std::uint8_t>(v >> 24U),
                 static_cast<std::uint8_t>(v >> 16U),
                 static_cast<std::uint8_t>(v >> 8U),
                 static_cast<std::uint8_t>(v)};
  };
  Bytes content{'e', 'X', 'I', 'f'};
  append(content, block);
  Bytes out(png.begin(), png.begin() + kBehindHeader);
  append(out, word(block.size()));
  append(out, content);
  append(out, word(crc32(0, content.data(), static_cast<uInt>(content.size()))));
  append(out, {png.begin() + kBehindHeader, png.end()});
  return out;
}

/// Two rows of three pixels, whose red values are 1 to 6.
const Image kScene{2, 3, {1, 0, 0, 2, 0, 0, 3, 0, 0, 4, 0, 0, 5, 0, 0, 6, 0, 0}};

std::vector<int> reds(const Image& image) {
  std::vector<int> out;
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) out.push_back(image.pixels[i]);
  return out;
}

}  // namespace

TEST_CASE("every orientation of EXIF is turned upright") {
  // The standard's table: where the first row and the first column of the file are in the scene.
  const std::array<std::vector<int>, 8> expected{{{1, 2, 3, 4, 5, 6},
                                                  {3, 2, 1, 6, 5, 4},
                                                  {6, 5, 4, 3, 2, 1},
                                                  {4, 5, 6, 1, 2, 3},
                                                  {1, 4, 2, 5, 3, 6},
                                                  {4, 1, 5, 2, 6, 3},
                                                  {6, 3, 5, 2, 4, 1},
                                                  {3, 6, 2, 5, 1, 4}}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CAPTURE(orientation);
    const Image turned = upright(kScene, orientation);
    CHECK(turned.height == (orientation < 5 ? 2 : 3));
    CHECK(turned.width == (orientation < 5 ? 3 : 2));
    CHECK(reds(turned) == expected[static_cast<std::size_t>(orientation - 1)]);
  }
}

TEST_CASE("the orientation is read in both byte orders and is 1 where it says nothing") {
  for (std::uint8_t orientation = 1; orientation <= 8; ++orientation)
    for (const bool little : {true, false})
      CHECK(exif_orientation(tiff(orientation, little)) == orientation);
  CHECK(exif_orientation({}) == 1);
  CHECK(exif_orientation(tiff(0)) == 1);
  CHECK(exif_orientation(tiff(9)) == 1);
  Bytes other = tiff(6);
  other[10] = 0x13;  // another tag
  CHECK(exif_orientation(other) == 1);
  other = tiff(6);
  other[12] = 4;  // a type that it does not have
  CHECK(exif_orientation(other) == 1);
  other = tiff(6);
  for (std::size_t size = 0; size < other.size(); ++size)
    CHECK(exif_orientation(std::span(other).first(size)) <= 8);
}

TEST_CASE("photographs are decoded upright") {
  const Bytes png = test::png(kScene.pixels, 2, 3);
  CHECK(reds(decode_image(png)) == reds(kScene));
  CHECK(reds(decode_image(with_chunk(png, tiff(6)))) == reds(upright(kScene, 6)));
  // 16 x 8 pixels, left half black and right half white: JPEG changes them little.
  Bytes halves;
  for (int i = 0; i < 16 * 8; ++i) append(halves, Bytes(3, i % 16 < 8 ? 0 : 255));
  const Bytes jpeg = test::jpeg(halves, 8, 16);
  CHECK(exif_of_jpeg(jpeg).empty());
  const Bytes turned = with_exif(jpeg, tiff(6, false));
  CHECK(exif_of_jpeg(turned).size() == tiff(6).size());
  const Image image = decode_image(turned);
  CHECK(image.height == 16);
  CHECK(image.width == 8);
  CHECK(image.pixels.front() < 10);
  CHECK(image.pixels.back() > 245);
  for (std::size_t size = 0; size < turned.size(); ++size)
    CHECK(exif_of_jpeg(std::span(turned).first(size)).size() <= turned.size());
}
