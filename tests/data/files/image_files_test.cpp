#include "data/files/image_files.h"

#include "data/images/image_codec.h"
#include "framework/core/error.h"
#include "tests/data/images.h"
#include "tests/support/log_file.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

using namespace learn;
using namespace learn::data;

namespace {

std::vector<std::string> names(const std::vector<ImageFile>& files) {
  std::vector<std::string> out;
  for (const ImageFile& file : files) out.push_back(file.name);
  return out;
}

}  // namespace

TEST_CASE("the images of a file and of a folder in any depth") {
  const test::TemporaryFolder folder;
  const auto red = test::png(test::plain(2, 3, 200, 0, 0), 2, 3);
  test::write_bytes(folder.path() / "b.PNG", red);
  test::write_bytes(folder.path() / "a" / "deep" / "c.jpeg", red);
  test::write_bytes(folder.path() / "notes.txt", {'x'});
  test::write_bytes(folder.path() / "nameless", red);
  CHECK(names(image_files(folder.path(), "here")) ==
        std::vector<std::string>{"here/a/deep/c.jpeg", "here/b.PNG", "here/nameless"});
  CHECK(names(image_files(folder.path(), "")) ==
        std::vector<std::string>{"a/deep/c.jpeg", "b.PNG", "nameless"});
  const auto one = image_files(folder.path() / "nameless", "mine");
  REQUIRE(names(one) == std::vector<std::string>{"mine"});
  CHECK(one.front().read().width == 3);
  CHECK(read_image(folder.path() / "b.PNG").pixels.front() == 200);
}

TEST_CASE("a bad entry of a folder does not affect others") {
  const test::TemporaryFolder folder;
  const auto red = test::png(test::plain(2, 3, 200, 0, 0), 2, 3);
  test::write_bytes(folder.path() / "a" / "good.png", red);
  std::filesystem::create_symlink("good.png", folder.path() / "a" / "link.png");
  std::filesystem::create_symlink("round.png", folder.path() / "round.png");
  std::filesystem::create_symlink("nowhere", folder.path() / "no image");
  std::filesystem::create_directory_symlink("a", folder.path() / "again.png");
  std::filesystem::create_directory_symlink("..", folder.path() / "a" / "up");
  test::write_bytes(folder.path() / "a" / "b.avif", {'x'});
  const test::LogFile log;
  const auto files = image_files(folder.path(), "x");
  REQUIRE(names(files) == std::vector<std::string>{"x/a/good.png",
                                                   "x/a/link.png",
                                                   "x/again.png/good.png",
                                                   "x/again.png/link.png",
                                                   "x/round.png"});
  // "up" is also in "again.png".
  CHECK(log.count("'x': skipped 5 files: 2 .avif, 2 link to a parent folder, 1 broken link; "
                  "'x/a/b.avif' may be an image") == 1);
  CHECK(files[0].read().width == 3);
  CHECK(files[1].read().width == 3);
  CHECK(test::text_of<DataError>([&] { (void)files[4].read(); }) ==
        "cannot open it: Too many levels of symbolic links");
}

TEST_CASE("a damaged archive gives the images before the damage, and its position") {
  const test::TemporaryFolder folder;
  const std::string magic(
      "ustar\0"
      "00",
      8);
  std::vector<std::uint8_t> tar;
  const auto red = test::png(test::plain(2, 3, 200, 0, 0), 2, 3);
  for (const std::string name : {"b.png", "a.png"}) {
    std::vector<std::uint8_t> block(512);
    std::ranges::copy(name, block.begin());
    std::ranges::copy(std::string("0000644"), block.begin() + 100);
    std::ranges::copy(fmt::format("{:011o}", red.size()), block.begin() + 124);
    std::ranges::copy(magic, block.begin() + 257);
    std::fill_n(block.begin() + 148, 8, std::uint8_t{' '});
    const int sum = std::accumulate(block.begin(), block.end(), 0);
    std::ranges::copy(fmt::format("{:06o}", sum), block.begin() + 148);
    tar.insert(tar.end(), block.begin(), block.end());
    tar.insert(tar.end(), red.begin(), red.end());
    tar.resize((tar.size() + 511) / 512 * 512);
  }
  for (std::size_t bytes = 0; bytes <= tar.size(); bytes += 64) {
    CAPTURE(bytes);
    test::write_bytes(folder.path() / "cut",
                      {tar.begin(), tar.begin() + static_cast<std::ptrdiff_t>(bytes)});
    std::vector<ImageFile> files;
    const std::string error =
        test::text_of<DataError>([&] { files = image_files(folder.path() / "cut", "x"); });
    if (bytes > 0 && bytes < 512) {
      CHECK(error.starts_with(
          "it is neither JPEG, PNG, WebP, TIFF, BMP, GIF or PNM nor a readable archive"));
    } else {
      CHECK(error.empty());
    }
    std::vector<std::string> seen;
    for (const ImageFile& file : files)
      seen.push_back(file.name + (file.error.empty() ? "" : ": lost"));
    using Names = std::vector<std::string>;
    const std::size_t second = tar.size() / 2;
    CHECK(seen == (bytes == 0             ? Names{"x"}  // an empty image
                   : bytes < 512          ? Names{}
                   : bytes < second       ? Names{"x/b.png: lost"}
                   : bytes == second      ? Names{"x/b.png"}
                   : bytes < second + 512 ? Names{"x/b.png", "x: lost"}
                   : bytes < tar.size()   ? Names{"x/a.png: lost", "x/b.png"}
                                          : Names{"x/a.png", "x/b.png"}));
  }
}

TEST_CASE("a file that is not an image is refused with the reason") {
  CHECK(test::text_of<DataError>([] {
          (void)decode_image(std::vector<std::uint8_t>{0xFF, 0xD8, 0xFF, 0xD9});
        }) == "damaged JPEG: it has no frame header, which contains the image size");
  const test::TemporaryFolder folder;
  const auto error = [&](const std::filesystem::path& path) {
    return test::text_of<DataError>([&] { (void)image_files(path, "x"); });
  };
  CHECK(error(folder.path() / "nowhere.png") == "no such file or folder");
  CHECK(error(folder.path()) == "it contains no " + image_extensions() + " file");
  test::write_bytes(folder.path() / "folder" / "a.heic", {'x', 'y'});
  CHECK(error(folder.path()) ==
        "it contains no " + image_extensions() + " file, but 1 file: 1 .heic");
  test::write_bytes(folder.path() / "notes.txt", {'x', 'y'});
  CHECK(error(folder.path() / "notes.txt") ==
        "it is text, neither JPEG, PNG, WebP, TIFF, BMP, GIF or PNM nor an archive (tar, zip): get "
        "the image again");
  test::write_bytes(folder.path() / "pack", {'R', 'a', 'r', '!', 0x1A, 7, 0});
  CHECK(error(folder.path() / "pack")
            .starts_with(
                "it is neither JPEG, PNG, WebP, TIFF, BMP, GIF or PNM nor a readable archive"));
  test::write_bytes(folder.path() / "empty.jpg", {});
  CHECK(test::text_of<DataError>([&] {
          (void)image_files(folder.path() / "empty.jpg", "x").front().read();
        }) == "the file is empty");
  CHECK(test::contains(
      test::text_of<DataError>([&] { (void)read_image(folder.path() / "empty.jpg"); }),
      "empty.jpg': the file is empty"));
  CHECK(error("/dev/null") == "it is not a regular file");
}
