#include "data/image_files.h"

#include "framework/core/error.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

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

TEST_CASE("what cannot be read costs only itself") {
  const test::TemporaryFolder folder;
  const std::filesystem::path top = folder.path() / "f";
  std::filesystem::create_directories(top);
  test::write_bytes(top / "good.png", test::png(test::plain(2, 2, 200, 0, 0), 2, 2));
  std::filesystem::create_symlink("loop.jpg", top / "loop.jpg");
  std::filesystem::create_symlink("nowhere", top / "nothing.jpg");
  std::filesystem::create_symlink("good.png", top / "link.png");
  std::filesystem::create_symlink("nowhere", top / "notes");  // is no image, and missed by nobody
  REQUIRE(::mkfifo((top / "fifo.png").c_str(), 0600) == 0);
  const std::vector<ImageFile> files = image_files(top, "f");
  CHECK(names(files) ==
        std::vector<std::string>{
            "f/fifo.png", "f/good.png", "f/link.png", "f/loop.jpg", "f/nothing.jpg"});
  CHECK(files[0].problem == "it is not a regular file");
  CHECK(files[1].read().pixels.front() == 200);
  CHECK(files[2].read().pixels.front() == 200);
  CHECK(files[3].problem == "Too many levels of symbolic links");
  CHECK(files[4].problem == "No such file or directory");
  CHECK(test::text_of<DataError>([&] { (void)files[4].read(); }) == files[4].problem);
}
