#include "data/image_files.h"

#include "framework/core/error.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>

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
        std::vector<std::string>{"here/a/deep/c.jpeg", "here/b.PNG"});
  CHECK(names(image_files(folder.path(), "")) ==
        std::vector<std::string>{"a/deep/c.jpeg", "b.PNG"});
  const auto one = image_files(folder.path() / "nameless", "mine");
  REQUIRE(names(one) == std::vector<std::string>{"mine"});
  CHECK(one.front().read().width == 3);
  CHECK(read_image(folder.path() / "b.PNG").pixels.front() == 200);
}

TEST_CASE("what is no image says why") {
  const test::TemporaryFolder folder;
  const auto error = [&](const std::filesystem::path& path) {
    return test::text_of<DataError>([&] { (void)image_files(path, "x"); });
  };
  CHECK(error(folder.path() / "nowhere.png") == "there is no such file or folder");
  CHECK(error(folder.path()) == "no .jpg, .jpeg or .png file is in it");
  test::write_bytes(folder.path() / "notes.txt", {'x', 'y'});
  CHECK(error(folder.path() / "notes.txt").starts_with("neither a JPEG nor a PNG image"));
  test::write_bytes(folder.path() / "empty.jpg", {});
  CHECK(test::text_of<DataError>([&] {
          (void)image_files(folder.path() / "empty.jpg", "x").front().read();
        }) == "the file is empty");
  CHECK(test::contains(
      test::text_of<DataError>([&] { (void)read_image(folder.path() / "empty.jpg"); }),
      "empty.jpg': the file is empty"));
  CHECK(error("/dev/null") == "'/dev/null' is not a regular file");
}
