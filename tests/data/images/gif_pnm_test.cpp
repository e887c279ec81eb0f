// GIF and PNM: the pixels that Pillow reads, and damage.
#include "data/images/image_codec.h"
#include "framework/core/error.h"
#include "framework/core/random.h"
#include "tests/data/images.h"
#include "tests/golden/image_values.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

using namespace learn;
using namespace learn::data;
using test::contains;

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const std::string& digits) {
  Bytes out;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    out.push_back(static_cast<std::uint8_t>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return out;
}

Bytes text(const std::string& bytes) { return {bytes.begin(), bytes.end()}; }

std::string error_of(const Bytes& file, std::int64_t max_pixels = kMaxPixels) {
  return test::text_of<DataError>(
      [&] { static_cast<void>(decode_image(file, {.max_pixels = max_pixels})); });
}

/// The codes of a GIF, lowest bit first.
class Codes {
 public:
  void add(std::size_t code, int bits) {
    for (int i = 0; i < bits; ++i) {
      if (used_ % 8 == 0) bytes_.push_back(0);
      bytes_.back() = static_cast<std::uint8_t>(bytes_.back() | ((code >> i) & 1U) << used_ % 8);
      ++used_;
    }
  }
  [[nodiscard]] Bytes blocks() const {
    Bytes out;
    for (std::size_t at = 0; at < bytes_.size(); at += 255) {
      const std::size_t n = std::min<std::size_t>(255, bytes_.size() - at);
      out.push_back(static_cast<std::uint8_t>(n));
      out.insert(out.end(), &bytes_[at], &bytes_[at] + n);
    }
    out.push_back(0);
    return out;
  }

 private:
  Bytes bytes_;
  int used_ = 0;
};

/// LZW of 8 bits that never clears its table.
Codes packed(const Bytes& symbols) {
  Codes codes;
  std::map<Bytes, std::size_t> table;
  for (int i = 0; i < 256; ++i) table[{static_cast<std::uint8_t>(i)}] = static_cast<std::size_t>(i);
  std::size_t size = 258;
  int bits = 9;
  codes.add(256, bits);
  Bytes run;
  for (const std::uint8_t symbol : symbols) {
    Bytes longer = run;
    longer.push_back(symbol);
    if (table.contains(longer)) {
      run = std::move(longer);
      continue;
    }
    codes.add(table[run], bits);
    if (size < 4096) {
      table[longer] = size++;
      // The reader has the entry one code later.
      if (size - 1 == std::size_t{1} << bits && bits < 12) ++bits;
    }
    run = {symbol};
  }
  codes.add(table[run], bits);
  codes.add(257, bits);
  return codes;
}

/// A GIF of 256 grey values, in one image that covers the screen.
Bytes gif(std::int64_t height, std::int64_t width, int symbol_bits, const Codes& codes) {
  Bytes out = text("GIF89a");
  const auto number = [&](std::int64_t v) {
    out.push_back(static_cast<std::uint8_t>(v));
    out.push_back(static_cast<std::uint8_t>(v >> 8));
  };
  number(width);
  number(height);
  out.insert(out.end(), {0, 0, 0, ','});
  number(0);
  number(0);
  number(width);
  number(height);
  out.insert(out.end(), {0, static_cast<std::uint8_t>(symbol_bits)});
  const Bytes blocks = codes.blocks();
  out.insert(out.end(), blocks.begin(), blocks.end());
  out.push_back(';');
  return out;
}

}  // namespace

TEST_CASE("codec: GIF and PNM have the pixels that Pillow reads") {
  for (const golden::ImageFile& image : golden::kImageFiles) {
    CAPTURE(image.name);
    const Bytes file = bytes_of(image.file);
    const Image decoded = decode_image(file);
    CHECK(decoded.height == image.height);
    CHECK(decoded.width == image.width);
    CHECK(decoded.pixels == bytes_of(image.pixels));
    CHECK(std::string(image_format(file)) == (file[0] == 'G' ? "GIF" : "PNM"));
    CHECK(contains(error_of(file, 3), "at most 3 pixels are read"));
    // A shorter file is refused or has the same pixels: of GIF its end may lack.
    for (std::size_t keep = 0; keep < file.size(); ++keep) {
      const Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(keep));
      if (error_of(cut).empty() && std::string(image.name).find("of text") == std::string::npos)
        CHECK(decode_image(cut).pixels == decoded.pixels);
    }
    for (std::size_t i = 0; i < file.size(); ++i)
      for (const int mask : {0x01, 0x04, 0x10, 0x80, 0xFF}) {
        Bytes other = file;
        other[i] = static_cast<std::uint8_t>(other[i] ^ mask);
        static_cast<void>(error_of(other, 1 << 16));
      }
  }
}

TEST_CASE("codec: a GIF whose table is full, and one of long runs") {
  constexpr std::int64_t kSide = 128;
  Bytes noise(kSide * kSide);
  for (std::size_t i = 0; i < noise.size(); ++i)
    noise[i] = static_cast<std::uint8_t>(random4(4, RandomPurpose::test, 0, i).v[0]);
  for (const Bytes& symbols : {noise, Bytes(kSide * kSide, 7)}) {
    const Image image = decode_image(gif(kSide, kSide, 8, packed(symbols)));
    Bytes rgb;
    for (const std::uint8_t symbol : symbols) rgb.insert(rgb.end(), 3, symbol);
    CHECK(image.pixels == rgb);
  }
}

TEST_CASE("codec: damaged GIF") {
  const auto coded = [](std::initializer_list<std::size_t> codes) {
    Codes out;
    for (const std::size_t code : codes) out.add(code, 9);
    return gif(1, 4, 8, out);
  };
  CHECK(error_of(coded({256, 1, 2, 3, 4, 257})).empty());
  CHECK(error_of(coded({1, 258, 259, 257})).empty());
  CHECK(error_of(coded({256, 258})) == "damaged GIF: invalid data");
  CHECK(error_of(coded({256, 1, 259})) == "damaged GIF: invalid data");
  CHECK(error_of(coded({256, 1, 2, 257})) ==
        "damaged GIF: it ends early, 2 of 4 pixels are missing");
  CHECK(error_of(text("GIF89a")) == "damaged GIF: it ends too early");
  CHECK(error_of(gif(1, 4, 9, {})) == "damaged GIF: its symbols have 9 bits, expected 1 to 8");
  Bytes other = coded({256, 1, 2, 3, 4});
  other[13] = ';';
  CHECK(error_of(other) == "damaged GIF: it has no image");
  other = coded({256, 1, 2, 3, 4});
  other[10] = 0x80;  // a palette of two
  other.insert(other.begin() + 13, {1, 2, 3, 4, 5, 6});
  CHECK(error_of(other) == "damaged GIF: colour 2 of a palette of 2");
  // Unless it is the transparent one.
  Bytes control = text("!\xF9\4\1");
  control.insert(control.end(), {0, 0, 2, 0});
  Codes codes;
  for (const std::size_t code : std::vector<std::size_t>{256, 1, 2, 0, 1}) codes.add(code, 9);
  other = gif(1, 4, 8, codes);
  other[10] = 0x80;
  other.insert(other.begin() + 13, control.begin(), control.end());
  other.insert(other.begin() + 13, {1, 2, 3, 4, 5, 6});
  CHECK(decode_image(other).pixels == Bytes{4, 5, 6, 0, 0, 0, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("codec: damaged PNM") {
  CHECK(decode_image(text("P2 #x\n2 1\n#y\n10 0 #z\n10 ")).pixels == Bytes{0, 0, 0, 255, 255, 255});
  CHECK(decode_image(text("P1 3 1 101")).pixels == Bytes{0, 0, 0, 255, 255, 255, 0, 0, 0});
  CHECK(error_of(text("P2 2 1 10 0")) == "damaged PNM: it ends too early");
  CHECK(error_of(text("P5 2 1 255 x")) == "damaged PNM: it ends too early");
  CHECK(error_of(text("P2 2 1 10 0 11")) == "damaged PNM: value 11 at byte 14, the largest is 10");
  CHECK(error_of(text("P2 2 1 10 0 x")) == "damaged PNM: no number at byte 12");
  CHECK(error_of(text("P1 2 1 2 0")) == "damaged PNM: value -1 at byte 8, the largest is 1");
  CHECK(error_of(text("P5 2 1 0 xx")) == "damaged PNM: its largest value is 0, not 1 to 65535");
  CHECK(contains(error_of(text("P6 2 1 65536 ")), "its largest value is 65536"));
  CHECK(contains(error_of(text("P6 99999999999 99999999999 255 ")), "pixels are read"));
  CHECK(contains(error_of(text("P6 0 1 255 ")), "image of 0x1 pixels"));
}
