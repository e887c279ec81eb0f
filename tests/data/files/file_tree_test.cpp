#include "data/files/file_tree.h"

#include "data/files/image_files.h"
#include "data/images/image_codec.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

using namespace learn;
using namespace learn::data;
namespace fs = std::filesystem;

namespace {

/// Names that sort differently by their bytes and by their parts, and ones with odd characters.
const std::vector<std::string> kNames{"a/b.png",
                                      "a/b/c.png",
                                      "a.b/c.png",
                                      "a.png",
                                      "a b/c.png",
                                      "a b.png",
                                      "a-b.png",
                                      "a!/z.png",
                                      "a/b c.png",
                                      "A.png",
                                      "\u00e4/\u6f22\u5b57.png",
                                      "\u00e4.png",
                                      "\xff.png",
                                      "z/\u00fc b/\n.png",
                                      "10.png",
                                      "9.png"};

}  // namespace

TEST_CASE("file tree: files are sorted by the bytes of the parts of their paths") {
  const test::TemporaryFolder folder;
  for (const std::string& name : kNames)
    test::write_bytes(folder.path() / name, test::png(test::plain(2, 2, 1, 2, 3), 2, 2));
  std::vector<fs::path> sorted(kNames.begin(), kNames.end());
  std::ranges::sort(sorted);
  const std::vector<std::string> expected(sorted.begin(), sorted.end());
  CHECK(open_tree(folder.path())->files({}) == expected);
  std::vector<std::string> images;
  for (const ImageFile& file : image_files(folder.path(), "")) images.push_back(file.name);
  CHECK(images == expected);
  CHECK(open_tree(folder.path())->files("a") ==
        std::vector<std::string>{"a/b/c.png", "a/b c.png", "a/b.png"});
}

TEST_CASE("file tree: paths are joined as path objects are") {
  for (const std::string folder : {"", "a", "a/", "/", "a/b"})
    for (const std::string path : {"", "c", "c/d.png", "/c", "."}) {
      CAPTURE(folder);
      CAPTURE(path);
      const std::string joined = path_below(folder, path);
      CHECK(joined == (path.empty() ? folder : (fs::path(folder) / path).native()));
    }
}

TEST_CASE("file tree: the names of images are known as by path objects") {
  for (const std::string name : {"a.png",
                                 "a.PnG",
                                 ".png",
                                 "a/.png",
                                 "..png",
                                 "a.png/b",
                                 "a.png/..",
                                 "b/a.jpeg",
                                 "a.",
                                 "a.b.tiff",
                                 "png",
                                 "a.png "}) {
    CAPTURE(name);
    const std::string extension = fs::path(name).extension();
    const bool image =
        extension == ".png" || extension == ".PnG" || extension == ".jpeg" || extension == ".tiff";
    CHECK(has_image_name(name) == image);
  }
}
