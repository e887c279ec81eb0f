#include "framework/drawing/png.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <png.h>

#include <vector>

using namespace learn;

TEST_CASE("a PNG holds the pixels it was given") {
  const TemporaryFolder folder;
  const std::vector<std::uint8_t> rgb{
      255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30, 40, 50, 60, 70, 80, 90};
  write_png(folder / "p.png", 3, 2, rgb);
  png_image file{};
  file.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_file(&file, (folder / "p.png").c_str()) != 0);
  file.format = PNG_FORMAT_RGB;
  CHECK(file.width == 3);
  CHECK(file.height == 2);
  std::vector<std::uint8_t> read(PNG_IMAGE_SIZE(file));
  REQUIRE(png_image_finish_read(&file, nullptr, read.data(), 0, nullptr) != 0);
  CHECK(read == rgb);
  CHECK(read_text_file(folder / "p.png") == encode_png(3, 2, rgb));
  CHECK_THROWS_AS(write_png(folder / "q.png", 3, 3, rgb), UsageError);
  CHECK_THROWS_AS(write_png(folder / "no" / "q.png", 3, 2, rgb), IoError);
}
