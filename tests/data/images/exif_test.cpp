#include "data/images/exif.h"

#include "data/images/image_codec.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <zlib.h>

#include <array>
#include <string>

using namespace learn;
using namespace learn::data;

namespace {

using Bytes = std::vector<std::uint8_t>;

void append_number(Bytes& to, std::uint64_t value, std::size_t bytes, bool little) {
  for (std::size_t i = 0; i < bytes; ++i)
    to.push_back(static_cast<std::uint8_t>(value >> (8 * (little ? i : bytes - 1 - i))));
}

/// Types of TIFF's numbers.
enum Type : std::uint8_t {
  kByte = 1,
  kAscii,
  kShort,
  kLong,
  kRational,
  kSbyte,
  kUndefined,
  kSshort,
  kSlong,
  kFloat = 11,
  kIfd = 13,
  kLong8 = 16
};

std::size_t bytes_of(Type type) {
  return type == kShort || type == kSshort                                   ? 2
         : type == kLong8 || type == kRational                               ? 8
         : type == kLong || type == kSlong || type == kIfd || type == kFloat ? 4
                                                                             : 1;
}

/// A TIFF block with one tag, the orientation, that many times.
Bytes tiff(std::uint8_t orientation,
           bool little = true,
           Type type = kShort,
           std::size_t count = 1) {
  constexpr std::size_t kBehind = 26;
  Bytes out = little ? Bytes{'I', 'I', 42, 0} : Bytes{'M', 'M', 0, 42};
  append_number(out, 8, 4, little);
  append_number(out, 1, 2, little);
  append_number(out, 0x0112, 2, little);
  append_number(out, type, 2, little);
  append_number(out, count, 4, little);
  Bytes values;
  for (std::size_t i = 0; i < count; ++i)
    append_number(values, orientation, bytes_of(type), little);
  if (values.size() > 4)
    append_number(out, kBehind, 4, little);
  else
    out.insert(out.end(), values.begin(), values.end());
  out.resize(22);
  append_number(out, 0, 4, little);
  if (values.size() > 4) out.insert(out.end(), values.begin(), values.end());
  return out;
}

/// ImageMagick's text of a block.
Bytes profile(const Bytes& block, bool header = true) {
  std::string text = "\nexif\n" + fmt::format("{:8}", block.size()) + "\n";
  if (header) text += "457869660000";
  for (std::size_t i = 0; i < block.size(); ++i)
    text += fmt::format("{:02x}{}", block[i], i % 36 == 35 ? "\n" : "");
  text += '\n';
  return {text.begin(), text.end()};
}

Bytes packed(const Bytes& text) {
  Bytes out(compressBound(static_cast<uLong>(text.size())));
  uLongf size = out.size();
  compress(out.data(), &size, text.data(), static_cast<uLong>(text.size()));
  out.resize(size);
  return out;
}

void append(Bytes& to, const Bytes& what) { to.insert(to.end(), what.begin(), what.end()); }

/// A JPEG with segments after its start: XMP, which is of the same kind, then EXIF.
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

TEST_CASE("the orientation is read as a number of any integer type") {
  // PIL, too, reads it neither from BYTE nor from types that are not integers.
  for (const bool little : {true, false})
    for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{5}}) {
      for (const Type type : {kShort, kLong, kSbyte, kSshort, kSlong, kIfd, kLong8}) {
        CAPTURE(type);
        for (std::uint8_t orientation = 1; orientation <= 8; ++orientation)
          CHECK(exif_orientation(tiff(orientation, little, type, count)) == orientation);
        CHECK(exif_orientation(tiff(0, little, type, count)) == 1);
        CHECK(exif_orientation(tiff(9, little, type, count)) == 1);
        CHECK(exif_orientation(tiff(0xFF, little, type, count)) == 1);
      }
      for (const Type type : {kByte, kAscii, kUndefined, kRational, kFloat, Type{0}, Type{99}})
        CHECK(exif_orientation(tiff(6, little, type, count)) == 1);
    }
  CHECK(exif_orientation(tiff(6, true, kLong, 0)) == 1);
}

TEST_CASE("EXIF blocks with headers, with a wrong version, and with bad offsets") {
  Bytes block = tiff(6);
  for (int headers = 0; headers < 2; ++headers) {
    block.insert(block.begin(), {'E', 'x', 'i', 'f', 0, 0});
    CHECK(has_exif_header(block));
    CHECK(exif_orientation(block) == 6);
  }
  CHECK_FALSE(has_exif_header(tiff(6)));
  CHECK_FALSE(has_exif_header(Bytes{'E', 'x', 'i', 'f', 0}));
  Bytes other = tiff(6);
  other[2] = 43;  // BigTIFF
  CHECK(exif_orientation(other) == 1);
  other = tiff(6);
  other[4] = other[5] = other[6] = other[7] = 0xFF;  // where the tags are
  CHECK(exif_orientation(other) == 1);
  other = tiff(6);
  other[8] = other[9] = 0xFF;  // how many there are
  CHECK(exif_orientation(other) == 6);
  other[10] = 0x13;
  CHECK(exif_orientation(other) == 1);
  other = tiff(6, true, kLong8);
  other[18] = 0xFF;  // where the value is
  CHECK(exif_orientation(other) == 1);
  for (std::size_t i = 0; i < other.size(); ++i)
    for (int value = 0; value < 256; ++value) {
      Bytes changed = other;
      changed[i] = static_cast<std::uint8_t>(value);
      const int found = exif_orientation(changed);
      CHECK(found >= 1);
      CHECK(found <= 8);
    }
}

TEST_CASE("PNG is turned upright by eXIf, and by the profiles of ImageMagick") {
  const Bytes png = test::png(kScene.pixels, 2, 3);
  const auto chunk =
      [&](const std::string& type, std::string head, const Bytes& content, bool late) {
        Bytes all(head.begin(), head.end());
        append(all, content);
        return reds(decode_image(test::with_png_chunk(png, type, all, late)));
      };
  const Bytes text = profile(tiff(6, false, kLong));
  const std::vector<int> turned = reds(upright(kScene, 6));
  using namespace std::string_literals;
  for (const bool late : {false, true}) {
    CHECK(chunk("eXIf", "", tiff(6), late) == turned);
    CHECK(chunk("tEXt", "Raw profile type exif\0"s, text, late) == turned);
    CHECK(chunk("tEXt", "Raw profile type exif\0"s, profile(tiff(6), false), late) == turned);
    CHECK(chunk("tEXt", "Raw profile type APP1\0"s, text, late) == turned);
    CHECK(chunk("zTXt", "Raw profile type exif\0\0"s, packed(text), late) == turned);
    CHECK(chunk("iTXt", "Raw profile type exif\0\0\0en\0key\0"s, text, late) == turned);
    CHECK(chunk("iTXt", "Raw profile type exif\0\1\0\0\0"s, packed(text), late) == turned);
  }
  // Others, and damaged ones, are passed over.
  const std::vector<int> as_it_is = reds(kScene);
  CHECK(chunk("tEXt", "Raw profile type iptc\0"s, text, false) == as_it_is);
  CHECK(chunk("tEXt", "Comment\0"s, text, false) == as_it_is);
  CHECK(chunk("tEXt", "Raw profile type exif", {}, false) == as_it_is);
  CHECK(chunk("tEXt", "Raw profile type exif\0\nexif\n"s, {}, false) == as_it_is);
  CHECK(chunk("tEXt", "Raw profile type exif\0\nexif\n 8\nxyz"s, {}, false) == as_it_is);
  CHECK(chunk("zTXt", "Raw profile type exif\0\0"s, text, false) == as_it_is);
  CHECK(chunk("zTXt", "Raw profile type exif\0"s, {}, false) == as_it_is);
  CHECK(chunk("iTXt", "Raw profile type exif\0\1"s, {}, false) == as_it_is);
  // An orientation in XMP alone does not count: programs leave it there after they have turned the
  // pixels, and browsers do not look at it.
  CHECK(chunk("iTXt", "XML:com.adobe.xmp\0\0\0\0\0<x tiff:Orientation=\"6\"/>"s, {}, false) ==
        as_it_is);
  // A bomb: 64 MiB of zeros.
  CHECK(chunk("zTXt", "Raw profile type exif\0\0"s, packed(Bytes(64 << 20)), false) == as_it_is);
  // eXIf counts more.
  const Bytes both = test::with_png_chunk(png, "eXIf", tiff(3));
  Bytes all{'R', 'a', 'w', ' ', 'p', 'r', 'o', 'f', 'i', 'l', 'e',
            ' ', 't', 'y', 'p', 'e', ' ', 'e', 'x', 'i', 'f', 0};
  append(all, text);
  CHECK(reds(decode_image(test::with_png_chunk(both, "tEXt", all))) == reds(upright(kScene, 3)));
}

TEST_CASE("the orientation is read in both byte orders and is 1 if it is missing") {
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
  other[12] = 2;  // a type that it does not have
  CHECK(exif_orientation(other) == 1);
  other = tiff(6);
  for (std::size_t size = 0; size < other.size(); ++size)
    CHECK(exif_orientation(std::span(other).first(size)) <= 8);
}

TEST_CASE("photographs are decoded upright") {
  const Bytes png = test::png(kScene.pixels, 2, 3);
  CHECK(reds(decode_image(png)) == reds(kScene));
  CHECK(reds(decode_image(test::with_png_chunk(png, "eXIf", tiff(6)))) == reds(upright(kScene, 6)));
  // 16 x 8 pixels, left half black and right half white: JPEG changes them little.
  Bytes halves;
  for (int i = 0; i < 16 * 8; ++i) append(halves, Bytes(3, i % 16 < 8 ? 0 : 255));
  const Bytes jpeg = test::jpeg(halves, 8, 16);
  CHECK(decode_image(jpeg).width == 16);
  for (const Type type : {kLong, kSlong, kLong8})
    CHECK(decode_image(with_exif(jpeg, tiff(6, true, type))).width == 8);
  const Bytes turned = with_exif(jpeg, tiff(6, false));
  const Image image = decode_image(turned);
  CHECK(image.height == 16);
  CHECK(image.width == 8);
  CHECK(image.pixels.front() < 10);
  CHECK(image.pixels.back() > 245);
}
