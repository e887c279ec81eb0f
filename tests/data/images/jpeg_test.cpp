// Only faults that cost pixels of a JPEG file are damage.
#include "data/images/image_codec.h"
#include "framework/core/error.h"
#include "framework/core/random.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>

using namespace learn;
using namespace learn::data;
using test::contains;

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::int64_t kHeight = 24;
constexpr std::int64_t kWidth = 32;

Bytes noise() {
  Bytes rgb(kHeight * kWidth * 3);
  for (std::size_t i = 0; i < rgb.size(); ++i)
    rgb[i] = static_cast<std::uint8_t>(random4(3, RandomPurpose::test, 0, i).v[0]);
  return rgb;
}

Bytes file_of(const test::JpegKind& kind) { return test::jpeg(noise(), kHeight, kWidth, kind); }

const std::array<test::JpegKind, 3> kKinds{
    {{}, {.progressive = true}, {.scan_by_component = true}}};

/// Where a marker is for the `nth` time, counted from 0; the file's size if it is not.
std::size_t find(const Bytes& file, std::uint8_t marker, int nth = 0) {
  for (std::size_t i = 0; i + 1 < file.size(); ++i)
    if (file[i] == 0xFF && file[i + 1] == marker && nth-- == 0) return i;
  return file.size();
}

constexpr std::uint8_t kTables = 0xDB;
constexpr std::uint8_t kHuffman = 0xC4;
constexpr std::uint8_t kScan = 0xDA;
constexpr std::uint8_t kFirstRestart = 0xD0;

int count(const Bytes& file, std::uint8_t marker) {
  int n = 0;
  while (find(file, marker, n) < file.size()) ++n;
  return n;
}

Bytes inserted(Bytes file, std::size_t at, const Bytes& what) {
  file.insert(file.begin() + static_cast<std::ptrdiff_t>(at), what.begin(), what.end());
  return file;
}

Bytes first(const Bytes& file, std::size_t bytes) {
  return {file.begin(), file.begin() + static_cast<std::ptrdiff_t>(bytes)};
}

Bytes ended(Bytes file) {
  file.insert(file.end(), {0xFF, 0xD9});
  return file;
}

/// Where the segment of the JFIF version has it.
constexpr std::size_t kJfifVersion = 11;

std::string error_of(const Bytes& file) {
  return test::text_of<DataError>([&] { static_cast<void>(decode_image(file)); });
}

}  // namespace

TEST_CASE("jpeg: oddities that cost no pixels are read") {
  for (const test::JpegKind& kind : kKinds) {
    CAPTURE(kind.progressive);
    CAPTURE(kind.scan_by_component);
    const Bytes file = file_of(kind);
    const Bytes pixels = decode_image(file).pixels;
    const auto check_same = [&](const char* what, const Bytes& odd) {
      CAPTURE(what);
      CHECK(error_of(odd).empty());
      CHECK(decode_image(odd).pixels == pixels);
    };
    const std::size_t end = file.size() - 2;
    check_same("no end mark", first(file, end));
    check_same("half of an end mark", first(file, end + 1));
    Bytes odd = file;
    odd[end] = odd[end + 1] = 0;
    check_same("zeros in place of the end mark", odd);
    check_same("bytes before the end mark", inserted(file, end, {1, 2, 3, 4, 5}));
    check_same("fill bytes before the end mark", inserted(file, end, {0xFF, 0xFF}));
    check_same("bytes behind the end mark", ended(file));
    check_same("bytes before the tables", inserted(file, find(file, kTables), {1, 2, 3}));
    check_same("bytes before a Huffman table", inserted(file, find(file, kHuffman), Bytes(9)));
    check_same("bytes before the scan", inserted(file, find(file, kScan), {7}));
    for (const std::uint8_t version : Bytes{0, 2, 9}) {
      odd = file;
      odd[kJfifVersion] = version;
      odd[kJfifVersion + 1] = 0;
      check_same("another version of JFIF", odd);
    }
    check_same("an unknown transform of Adobe",
               inserted(file,
                        find(file, kTables),
                        {0xFF, 0xEE, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 7}));
    if (kind.progressive) continue;
    for (const Bytes& parameters : {Bytes{0, 0, 0}, Bytes{0, 63, 0x11}, Bytes{5, 5, 0}}) {
      odd = file;
      for (int scan = 0; scan < count(file, kScan); ++scan) {
        const std::size_t at = find(file, kScan, scan);
        std::ranges::copy(parameters,
                          odd.begin() + static_cast<std::ptrdiff_t>(at + 5 + 2 * file[at + 4]));
      }
      check_same("other parameters of the scan", odd);
    }
  }
}

TEST_CASE("jpeg: a shorter file is refused unless its pixels are all there") {
  for (const test::JpegKind& kind : kKinds) {
    CAPTURE(kind.progressive);
    const Bytes file = file_of(kind);
    const Bytes pixels = decode_image(file).pixels;
    std::size_t read = 0;
    for (std::size_t keep = 0; keep < file.size(); ++keep) {
      CAPTURE(keep);
      const Bytes cut = first(file, keep);
      if (!error_of(cut).empty()) continue;
      ++read;
      CHECK(decode_image(cut).pixels == pixels);
    }
    // Nothing but the end mark is needless, and at times the last byte of the last scan.
    CHECK(read >= 2);
    CHECK(read <= 4);
    CHECK(contains(error_of(first(file, file.size() / 2)), "damaged JPEG: it ends early, and"));
  }
  const Bytes file = file_of({});
  CHECK(contains(error_of(first(file, find(file, kScan))),
                 "damaged JPEG: it ends early, and pixels"));
  // An end mark makes it no better.
  for (const std::size_t less : std::vector<std::size_t>{3, 20, 200})
    CHECK(contains(error_of(ended(first(file, file.size() - 2 - less))), "damaged JPEG: "));
}

TEST_CASE("jpeg: scans that are missing, repeated or too many are damage") {
  const Bytes by_component = file_of({.scan_by_component = true});
  REQUIRE(count(by_component, kScan) == 3);
  const Bytes two = first(by_component, find(by_component, kScan, 2));
  CHECK(error_of(ended(two)) == "damaged JPEG: the scan of component 3 is missing");
  CHECK(error_of(ended(first(by_component, find(by_component, kScan, 1)))) ==
        "damaged JPEG: the scan of component 2 is missing");
  const Bytes progressive = file_of({.progressive = true});
  const int scans = count(progressive, kScan);
  REQUIRE(scans > 3);
  // The last one is preceded by its table.
  const std::size_t last = find(progressive, kHuffman, count(progressive, kHuffman) - 1);
  CHECK(error_of(first(progressive, last)) ==
        "damaged JPEG: it ends early, and its last scans are missing");
  // The standard lets a file end with fewer bits of each pixel.
  CHECK(error_of(ended(first(progressive, last))).empty());
  Bytes repeated = first(progressive, progressive.size() - 2);
  repeated.insert(
      repeated.end(), progressive.begin() + static_cast<std::ptrdiff_t>(last), progressive.end());
  CHECK(contains(error_of(repeated), "damaged JPEG: Inconsistent progression sequence"));
  Bytes many = first(by_component, by_component.size() - 2);
  const std::size_t from = find(by_component, kScan, 2);
  for (int i = 0; i < 499; ++i)
    many.insert(many.end(),
                by_component.begin() + static_cast<std::ptrdiff_t>(from),
                by_component.end() - 2);
  REQUIRE(count(many, kScan) == 502);
  CHECK(error_of(ended(many)) == "damaged JPEG: it has more than 500 scans");
}

TEST_CASE("jpeg: lost data between restart markers are damage") {
  const Bytes file = file_of({.restart_interval = 2});
  CHECK(decode_image(file).pixels == decode_image(file_of({})).pixels);
  const std::size_t mark = find(file, kFirstRestart + 1);
  REQUIRE(mark < file.size());
  CHECK(contains(error_of(inserted(file, mark, {1, 2, 3})), "damaged JPEG: Corrupt JPEG data"));
  Bytes other = file;
  other[mark + 1] = kFirstRestart + 5;
  CHECK(contains(error_of(other), "damaged JPEG: Corrupt JPEG data"));
  other = file;
  other.erase(other.begin() + static_cast<std::ptrdiff_t>(mark),
              other.begin() + static_cast<std::ptrdiff_t>(mark + 2));
  CHECK(contains(error_of(other), "damaged JPEG: Corrupt JPEG data"));
  CHECK(error_of(inserted(file, file.size() - 2, {0xFF, kFirstRestart})).empty());
}

TEST_CASE("jpeg: changed bytes give an error or an image") {
  for (const test::JpegKind& kind : kKinds) {
    const Bytes file = file_of(kind);
    for (std::size_t i = 0; i < file.size(); i += 1 + (i > 700 ? 5 : 0))
      for (const int mask : {0x01, 0x80, 0xFF}) {
        Bytes other = file;
        other[i] = static_cast<std::uint8_t>(other[i] ^ mask);
        try {
          const Image image = decode_image(other, {.max_pixels = 1 << 16});
          CHECK(static_cast<std::int64_t>(image.pixels.size()) == image.height * image.width * 3);
        } catch (const DataError&) {
        }
      }
  }
}
