#include "data/images/other_content.h"

#include "data/images/image_codec.h"
#include "framework/core/error.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>

#include <string>

using namespace learn;
using namespace learn::data;
using namespace std::string_literals;

namespace {

std::string error_of(const std::string& file) {
  return test::text_of<DataError>([&] {
    static_cast<void>(decode_image(std::vector<std::uint8_t>(file.begin(), file.end())));
  });
}

OtherContent content_of(const std::string& file) {
  return other_content(std::vector<std::uint8_t>(file.begin(), file.end()));
}

}  // namespace

TEST_CASE("files that are not images are identified, with advice") {
  CHECK(error_of("\0\0\0\x18"s + "ftypheic\0\0\0\0mif1heic"s) ==
        "it is HEIC, not JPEG, PNG, WebP, TIFF, BMP, GIF or PNM: convert it to JPEG or PNG, for "
        "instance with heif-convert");
  CHECK(error_of("\0\0\0\x1C"s + "ftypavif\0\0\0\0mif1avif"s).starts_with("it is AVIF, not JPEG"));
  CHECK(error_of("\n <!DOCTYPE HTML><title>404</title>") ==
        "it is an HTML page, not JPEG, PNG, WebP, TIFF, BMP, GIF or PNM: a server sent it in place "
        "of the image; get the image again");
  CHECK(error_of("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n") ==
        "it is a git-lfs pointer, not JPEG, PNG, WebP, TIFF, BMP, GIF or PNM: run 'git lfs pull'");
  CHECK(error_of("\1\2\3\4") == "it is not JPEG, PNG, WebP, TIFF, BMP, GIF or PNM");
  struct Case {
    std::string start;
    std::string name;
  };
  const Case cases[] = {
      {"\0\0\0\x18"s + "ftypmif1"s, "HEIC or AVIF"},
      {"\0\0\0\x18"s + "ftyphevc"s, "HEIC"},
      {"\0\0\0\x18"s + "ftypcrx "s, "a raw photograph (CR3)"},
      {"\0\0\0\x18"s + "ftypisom"s, "a video"},
      {"RIFF\0\0\0\0AVI LIST"s, "a video"},
      {"\xFF\x0A\0"s, "JPEG XL"},
      {"\0\0\0\x0CjP  \r\n"s, "JPEG 2000"},
      {"8BPS\0\1"s, "a Photoshop document"},
      {"\0\0\1\0\1\0"s, "an icon (ICO)"},
      {"%PDF-1.7\n", "a PDF document"},
      {"<?xml version='1.0'?>\n<svg xmlns='...'>", "SVG"},
      {"\xEF\xBB\xBF<html>", "an HTML page"},
      {"{\"error\": 404}", "text"},
      {"Gesperrt f\xC3\xBCr alle", "text"},
      {std::string(100, '\0'), "only zeros"},
      {std::string(128, '\0').append("DICM"), "DICOM"},
      {"\x93NUMPY\1\0"s, "a NumPy array"},
      {"\0\0\x08\3\0\0\0\1"s, "an idx file (MNIST's format)"},
      {"\x80\4}q"s, "a pickle of Python"},
      {"\0\5\x16\7\0\2"s, "macOS metadata of a file (AppleDouble)"},
  };
  for (const Case& each : cases) {
    CAPTURE(each.name);
    CHECK(std::string(content_of(each.start).name) == each.name);
    CHECK_FALSE(content_of(each.start).advice.empty());
    CHECK_FALSE(content_of(each.start).unpacks_to_more);
  }
  const Case archives[] = {
      {"PK\3\4\x14\0"s, "a zip archive"},
      {"\x1F\x8B\x08"s, "a gzip file"},
      {"\xFD\x37zXZ\0"s, "an xz file"},
      {"7z\xBC\xAF\x27\x1C"s, "a 7z archive"},
      {std::string("a.png").append(252, '\0').append("ustar"), "a tar archive"}};
  for (const Case& each : archives) {
    CHECK(std::string(content_of(each.start).name) == each.name);
    CHECK(content_of(each.start).unpacks_to_more);
  }
  for (const std::string& unknown : {""s, "\1"s, "\xFF\xD8\xFF"s, "ab\0cd"s})
    CHECK(content_of(unknown).name.empty());
}
