#include "data/images/image_codec.h"

#include "framework/core/error.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>
#include <tiffio.h>
#include <webp/encode.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

using namespace learn;
using namespace learn::data;
using test::contains;
using test::text_of;

namespace {

using Bytes = std::vector<std::uint8_t>;

/// Two rows of three pixels.
const Bytes kScene{10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160, 170, 180};

std::string error_of(const Bytes& file, const DecodeOptions& options = {}) {
  return text_of<DataError>([&] { static_cast<void>(decode_image(file, options)); });
}

void append(Bytes& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void append(Bytes& to, const std::string& text) { to.insert(to.end(), text.begin(), text.end()); }

/// Lossless, so that it says which pixels come out.
Bytes webp(const Bytes& rgb, int height, int width) {
  std::uint8_t* bytes = nullptr;
  const std::size_t size = WebPEncodeLosslessRGB(rgb.data(), width, height, width * 3, &bytes);
  Bytes out(bytes, bytes + size);
  WebPFree(bytes);
  return out;
}

/// The pixels of `file`, a lossless WebP, with a header that announces EXIF, and an EXIF chunk.
Bytes webp_with_exif(const Bytes& file, int height, int width, const Bytes& exif) {
  Bytes body;
  append(body, "WEBPVP8X");
  append(body, 10, 4);
  append(body, 0x08, 4);  // the flag of EXIF
  append(body, static_cast<std::uint64_t>(width - 1), 3);
  append(body, static_cast<std::uint64_t>(height - 1), 3);
  body.insert(body.end(), file.begin() + 12, file.end());
  append(body, "EXIF");
  append(body, exif.size(), 4);
  body.insert(body.end(), exif.begin(), exif.end());
  Bytes out;
  append(out, "RIFF");
  append(out, body.size(), 4);
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

/// One with a tag, the orientation.
Bytes exif_block(std::uint8_t orientation) {
  return {'I', 'I', 42, 0, 8, 0,           0, 0, 1, 0, 0x12, 0x01, 3,
          0,   1,   0,  0, 0, orientation, 0, 0, 0, 0, 0,    0,    0};
}

struct TiffKind {
  std::uint16_t photometric = PHOTOMETRIC_RGB;
  std::uint16_t bits = 8;
  std::uint16_t samples = 3;
  std::uint16_t compression = COMPRESSION_NONE;
  std::function<void(TIFF*)> more = {};
};

/// `rows`: the bytes of each row.
Bytes tiff_file(const std::vector<Bytes>& rows, std::uint32_t width, const TiffKind& kind) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "x.tif").string();
  TIFF* out = TIFFOpen(path.c_str(), "w");
  REQUIRE(out != nullptr);
  TIFFSetField(out, TIFFTAG_IMAGEWIDTH, width);
  TIFFSetField(out, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(rows.size()));
  TIFFSetField(out, TIFFTAG_BITSPERSAMPLE, kind.bits);
  TIFFSetField(out, TIFFTAG_SAMPLESPERPIXEL, kind.samples);
  TIFFSetField(out, TIFFTAG_PHOTOMETRIC, kind.photometric);
  TIFFSetField(out, TIFFTAG_COMPRESSION, kind.compression);
  TIFFSetField(out, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  if (kind.more) kind.more(out);
  for (std::size_t y = 0; y < rows.size(); ++y) {
    Bytes row = rows[y];
    REQUIRE(TIFFWriteScanline(out, row.data(), static_cast<std::uint32_t>(y), 0) == 1);
  }
  TIFFClose(out);
  return test::read_bytes(path);
}

std::vector<Bytes> scene_rows() {
  return {{kScene.begin(), kScene.begin() + 9}, {kScene.begin() + 9, kScene.end()}};
}

/// A BMP of 24 bits, with the last row first, as usual.
Bytes bmp(bool top_first = false, std::uint32_t compression = 0) {
  Bytes out;
  constexpr std::uint32_t kPixelsAt = 54;
  constexpr std::uint32_t kRow = 12;
  append(out, "BM");
  append(out, kPixelsAt + 2 * kRow, 4);
  append(out, 0, 4);
  append(out, kPixelsAt, 4);
  append(out, 40, 4);
  append(out, 3, 4);
  append(out, top_first ? std::uint32_t(-2) : 2, 4);
  append(out, 1, 2);
  append(out, 24, 2);
  append(out, compression, 4);
  for (int i = 0; i < 5; ++i) append(out, 0, 4);
  for (int y = 0; y < 2; ++y) {
    const int from = top_first ? y : 1 - y;
    for (int x = 0; x < 3; ++x)
      for (int c = 2; c >= 0; --c)
        out.push_back(kScene[static_cast<std::size_t>((from * 3 + x) * 3 + c)]);
    append(out, 0, 3);
  }
  return out;
}

/// Every shorter file is refused, and every file with a byte changed either is, or gives an image.
void check_hostile(const Bytes& file) {
  for (std::size_t keep = 0; keep < file.size(); ++keep) {
    CAPTURE(keep);
    CHECK_FALSE(error_of({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(keep)}).empty());
  }
  for (std::size_t i = 0; i < file.size(); ++i)
    for (const int mask : {0x01, 0x10, 0x80, 0xFF}) {
      Bytes other = file;
      other[i] = static_cast<std::uint8_t>(other[i] ^ mask);
      try {
        const Image image = decode_image(other, {.max_pixels = 1 << 16});
        CHECK(static_cast<std::int64_t>(image.pixels.size()) == image.height * image.width * 3);
      } catch (const DataError&) {
      }
    }
}

}  // namespace

TEST_CASE("codec: WebP, TIFF and BMP hold the pixels that were put in") {
  for (const Bytes& file : {webp(kScene, 2, 3), tiff_file(scene_rows(), 3, {}), bmp(), bmp(true)}) {
    const Image image = decode_image(file);
    CHECK(image.height == 2);
    CHECK(image.width == 3);
    CHECK(image.channels == 3);
    CHECK(image.pixels == kScene);
    CHECK(contains(error_of(file, {.max_pixels = 5}), "image of 3x2 pixels; at most 5"));
  }
}

TEST_CASE("codec: files that are cut short or changed are refused or read, never worse") {
  check_hostile(webp(kScene, 2, 3));
  check_hostile(tiff_file(scene_rows(), 3, {}));
  check_hostile(bmp());
  CHECK(contains(error_of({'R', 'I', 'F', 'F', 4, 0, 0, 0, 'W', 'E', 'B', 'P'}), "damaged WebP"));
  Bytes broken = webp(kScene, 2, 3);
  broken[16] = 0xF0;  // the length of the pixels' part
  CHECK(contains(error_of(broken), "the part at byte 12 is longer than the file"));
}

TEST_CASE("codec: TIFF of every usual kind becomes RGB") {
  const auto pixels =
      [](const std::vector<Bytes>& rows, std::uint32_t width, const TiffKind& kind) {
        return decode_image(tiff_file(rows, width, kind)).pixels;
      };
  CHECK(pixels(scene_rows(), 3, {.compression = COMPRESSION_LZW}) == kScene);
  CHECK(pixels(scene_rows(), 3, {.compression = COMPRESSION_ADOBE_DEFLATE}) == kScene);
  CHECK(pixels({{7, 200}}, 2, {.photometric = PHOTOMETRIC_MINISBLACK, .samples = 1}) ==
        Bytes{7, 7, 7, 200, 200, 200});
  CHECK(pixels({{7, 200}}, 2, {.photometric = PHOTOMETRIC_MINISWHITE, .samples = 1}) ==
        Bytes{248, 248, 248, 55, 55, 55});
  // 16 bits, by this machine's order of bytes.
  const std::uint16_t deep[] = {0, 0x8080, 0xFFFF};
  Bytes row(sizeof deep);
  std::memcpy(row.data(), deep, sizeof deep);
  CHECK(pixels({row}, 1, {.bits = 16}) == Bytes{0, 128, 255});
  // Transparent pixels keep their colour.
  std::uint16_t unassociated = EXTRASAMPLE_UNASSALPHA;
  CHECK(pixels({{10, 20, 30, 0, 40, 50, 60, 128}},
               2,
               {.samples = 4, .more = [&](TIFF* out) {
                  TIFFSetField(out, TIFFTAG_EXTRASAMPLES, 1, &unassociated);
                }}) == Bytes{10, 20, 30, 40, 50, 60});
  CHECK(pixels({{0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 255}},
               3,
               {.photometric = PHOTOMETRIC_SEPARATED, .samples = 4}) ==
        Bytes{255, 255, 255, 0, 255, 255, 0, 0, 0});
  std::vector<std::uint16_t> red(256, 0x1111);
  std::vector<std::uint16_t> green(256, 0x2222);
  std::vector<std::uint16_t> blue(256, 0x3333);
  red[9] = 0xFFFF;
  CHECK(pixels(
            {{9, 1}}, 2, {.photometric = PHOTOMETRIC_PALETTE, .samples = 1, .more = [&](TIFF* out) {
                            TIFFSetField(
                                out, TIFFTAG_COLORMAP, red.data(), green.data(), blue.data());
                          }}) == Bytes{255, 0x22, 0x33, 0x11, 0x22, 0x33});
}

TEST_CASE("codec: colours of a TIFF are as stored, whatever other bands it has") {
  for (int extra = 0; extra <= 5; ++extra)
    for (const std::uint16_t kind : std::vector<std::uint16_t>{
             EXTRASAMPLE_UNSPECIFIED, EXTRASAMPLE_ASSOCALPHA, EXTRASAMPLE_UNASSALPHA})
      for (const bool all : {false, true}) {
        CAPTURE(extra);
        CAPTURE(kind);
        CAPTURE(all);
        std::vector<Bytes> rows;
        for (const Bytes& row : scene_rows()) {
          rows.emplace_back();
          for (std::size_t x = 0; x < 3; ++x) {
            rows.back().insert(rows.back().end(), &row[3 * x], &row[3 * x] + 3);
            for (int band = 0; band < extra; ++band)
              rows.back().push_back(
                  static_cast<std::uint8_t>(x * 99 + static_cast<std::size_t>(band)));
          }
        }
        std::vector<std::uint16_t> kinds(static_cast<std::size_t>(extra),
                                         all ? kind : EXTRASAMPLE_UNSPECIFIED);
        if (extra > 0) kinds[0] = kind;
        const auto more = [&](TIFF* out) {
          if (extra > 0) TIFFSetField(out, TIFFTAG_EXTRASAMPLES, extra, kinds.data());
        };
        const auto samples = static_cast<std::uint16_t>(3 + extra);
        CHECK(decode_image(tiff_file(rows, 3, {.samples = samples, .more = more})).pixels ==
              kScene);
      }
}

TEST_CASE("codec: a TIFF of tiles whose size is not a multiple of 1024 bytes") {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "x.tif").string();
  TIFF* out = TIFFOpen(path.c_str(), "w");
  constexpr std::uint32_t kSide = 16;
  TIFFSetField(out, TIFFTAG_IMAGEWIDTH, kSide);
  TIFFSetField(out, TIFFTAG_IMAGELENGTH, kSide);
  TIFFSetField(out, TIFFTAG_BITSPERSAMPLE, 8);
  TIFFSetField(out, TIFFTAG_SAMPLESPERPIXEL, 3);
  TIFFSetField(out, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
  TIFFSetField(out, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(out, TIFFTAG_TILEWIDTH, kSide);
  TIFFSetField(out, TIFFTAG_TILELENGTH, kSide);
  Bytes pixels(kSide * kSide * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i % 251);
  REQUIRE(TIFFWriteTile(out, pixels.data(), 0, 0, 0, 0) > 0);
  TIFFClose(out);
  CHECK(decode_image(test::read_bytes(path)).pixels == pixels);
}

TEST_CASE("codec: colours of a PNG are as stored, whatever it says about them") {
  const auto word = [](std::uint32_t v) {
    return Bytes{static_cast<std::uint8_t>(v >> 24U),
                 static_cast<std::uint8_t>(v >> 16U),
                 static_cast<std::uint8_t>(v >> 8U),
                 static_cast<std::uint8_t>(v)};
  };
  Bytes primaries;
  for (const std::uint32_t v : {31270U, 32900U, 64000U, 33000U, 30000U, 60000U, 15000U, 6000U})
    for (const std::uint8_t byte : word(v)) primaries.push_back(byte);
  const Bytes junk{'x', 0, 0, 1, 2, 3};
  for (const int channels : {1, 3, 4}) {
    CAPTURE(channels);
    Bytes pixels(static_cast<std::size_t>(256 * channels));
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
    const Bytes file = test::png(pixels, 16, 16, channels);
    const Bytes as_stored = decode_image(file).pixels;
    for (const std::uint32_t gamma : {100000U, 55555U, 45455U, 20000U}) {
      const Bytes bright = test::with_png_chunk(file, "gAMA", word(gamma));
      CHECK(decode_image(bright).pixels == as_stored);
      CHECK(decode_image(test::with_png_chunk(bright, "cHRM", primaries)).pixels == as_stored);
      CHECK(decode_image(test::with_png_chunk(bright, "iCCP", junk)).pixels == as_stored);
      CHECK(decode_image(
                test::with_png_chunk(bright, "sBIT", Bytes(static_cast<std::size_t>(channels), 3)))
                .pixels == as_stored);
    }
  }
  // Pixels that are transparent by tRNS keep their colour.
  const Bytes grey = test::png({10, 20, 30, 40}, 2, 2, 1);
  CHECK(decode_image(test::with_png_chunk(grey, "tRNS", {0, 20})).pixels ==
        Bytes{10, 10, 10, 20, 20, 20, 30, 30, 30, 40, 40, 40});
}

TEST_CASE("codec: a TIFF of numbers instead of colours is refused with the reason") {
  const std::string text = error_of(
      tiff_file({Bytes(12)}, 1, {.bits = 32, .more = [](TIFF* out) {
                                   TIFFSetField(out, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_IEEEFP);
                                 }}));
  CAPTURE(text);
  CHECK(contains(text, "damaged TIFF"));
}

TEST_CASE("codec: WebP and TIFF are turned upright") {
  const Bytes first_column{10, 20, 30, 100, 110, 120};
  const auto check_turned = [&](const Bytes& file) {
    const Image image = decode_image(file);
    CHECK(image.height == 3);
    CHECK(image.width == 2);
    // Held turned to the right: the lowest pixel of the first column comes first.
    CHECK(Bytes(image.pixels.begin(), image.pixels.begin() + 6) ==
          Bytes{100, 110, 120, 10, 20, 30});
  };
  Bytes exif = exif_block(6);
  const Bytes plain = webp(kScene, 2, 3);
  check_turned(webp_with_exif(plain, 2, 3, exif));
  exif.insert(exif.begin(), {'E', 'x', 'i', 'f', 0, 0});
  check_turned(webp_with_exif(plain, 2, 3, exif));
  check_turned(tiff_file(scene_rows(), 3, {.more = [](TIFF* out) {
                           TIFFSetField(out, TIFFTAG_ORIENTATION, ORIENTATION_RIGHTTOP);
                         }}));
  check_hostile(webp_with_exif(plain, 2, 3, exif_block(6)));
}

TEST_CASE("codec: unsupported files are refused with advice") {
  CHECK(contains(error_of(bmp(false, 1)), "compressed BMP (kind 1) is not supported"));
  Bytes other = bmp();
  other[28] = 17;  // bits of a pixel
  CHECK(contains(error_of(other), "damaged BMP: "));
  CHECK(contains(error_of({'B', 'M', 1, 2, 3}), "it ends in its header"));
  Bytes animated = webp_with_exif(webp(kScene, 2, 3), 2, 3, {});
  animated[20] |= 0x02;
  CHECK(contains(error_of(animated), "animated WebP is not supported"));
}

TEST_CASE("codec: grey on request, as PIL computes it") {
  const Image grey = decode_image(test::png(kScene, 2, 3), {.channels = 1});
  CHECK(grey.channels == 1);
  // Image.frombytes("RGB", (3, 2), ...).convert("L")
  CHECK(grey.pixels == Bytes{18, 48, 78, 108, 138, 168});
  CHECK(with_channels(grey, 3).pixels[0] == 18);
  CHECK(with_channels(grey, 3).pixels.size() == 18);
  CHECK_THROWS_WITH_AS(static_cast<void>(with_channels(grey, 2)),
                       doctest::Contains("1 or 3 channels, not 2"),
                       UsageError);
}

TEST_CASE("codec: names and first bytes of images") {
  for (const char* name : {"a.jpg",
                           "a.JPEG",
                           "a.JPE",
                           "a.jfif",
                           "a.jif",
                           "a.pjpeg",
                           "a.pjp",
                           "a.png",
                           "a.WebP",
                           "a.tif",
                           "a.TIFF",
                           "a.bmp",
                           "a.dib",
                           "a.GIF",
                           "a.pbm",
                           "a.pgm",
                           "a.ppm",
                           "a.pnm"})
    CHECK(has_image_name(name));
  for (const char* name : {"a.heic", "bmp", "a.png.txt", ""}) CHECK_FALSE(has_image_name(name));
  CHECK(image_extensions() ==
        ".jpg, .jpeg, .jpe, .jfif, .jif, .pjpeg, .pjp, .png, .webp, .tif, .tiff, .bmp, .dib, .gif, "
        ".pbm, .pgm, .ppm or .pnm");
  CHECK(image_formats() == "JPEG, PNG, WebP, TIFF, BMP, GIF or PNM");
  CHECK(std::string(image_format(bmp())) == "BMP");
  CHECK(std::string(image_format(webp(kScene, 2, 3))) == "WebP");
  CHECK(std::string(image_format(tiff_file(scene_rows(), 3, {}))) == "TIFF");
  CHECK(
      std::string(image_format(Bytes{'R', 'I', 'F', 'F', 0, 0, 0, 0, 'W', 'A', 'V', 'E'})).empty());
}
