#include "data/sets/image_folder.h"

#include "data/images/image_codec.h"
#include "data/images/resize.h"
#include "framework/core/error.h"
#include "tests/data/images.h"
#include "tests/support/log_file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <tuple>

using namespace learn;
using namespace learn::data;
using test::contains;
using test::text_of;
namespace fs = std::filesystem;

namespace {

std::vector<std::uint8_t> red_jpeg() { return test::jpeg(test::plain(8, 8, 250, 10, 10), 8, 8); }

/// `count` PNGs in a class folder, each in a different colour.
void fill_class(const fs::path& folder, int count, std::uint8_t tone) {
  for (int i = 0; i < count; ++i)
    test::write_bytes(folder / ("image " + std::to_string(100 + i) + ".png"),
                      test::png(test::plain(4, 4, tone, static_cast<std::uint8_t>(i), 200), 4, 4));
}

std::string error_of(const fs::path& path, const FolderOptions& options = {}) {
  return text_of<DataError>([&] { static_cast<void>(from_folder(path, options)); });
}

}  // namespace

TEST_CASE("codec: JPEG and PNG become RGB") {
  const Image jpeg = decode_image(red_jpeg());
  CHECK(jpeg.height == 8);
  CHECK(jpeg.width == 8);
  // Quality 100 still rounds DCT coefficients and colour conversion.
  for (std::size_t i = 0; i < jpeg.pixels.size(); ++i)
    CHECK(std::abs(int{jpeg.pixels[i]} - (i % 3 == 0 ? 250 : 10)) <= 2);

  const std::vector<std::uint8_t> rgb{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const Image png = decode_image(test::png(rgb, 1, 4));
  CHECK(png.height == 1);
  CHECK(png.width == 4);
  CHECK(png.pixels == rgb);
}

TEST_CASE("codec: grey is spread, alpha is dropped") {
  CHECK(decode_image(test::png({7, 200}, 1, 2, 1)).pixels ==
        std::vector<std::uint8_t>{7, 7, 7, 200, 200, 200});
  CHECK(decode_image(test::png({1, 2, 3, 255, 4, 5, 6, 128}, 1, 2, 4)).pixels ==
        std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("codec: damage of every kind is a data error") {
  const auto bad = [](const std::vector<std::uint8_t>& bytes) {
    return text_of<DataError>([&] { static_cast<void>(decode_image(bytes)); });
  };
  CHECK(bad({}) == "the file is empty");
  const std::string html = "<html>404</html>";
  CHECK(contains(bad({html.begin(), html.end()}), "it is an HTML page, not JPEG, PNG"));
  const auto whole = test::png(test::plain(8, 8, 1, 2, 3), 8, 8);
  for (std::size_t keep = 0; keep < whole.size(); ++keep) {
    CAPTURE(keep);
    CHECK_FALSE(bad({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(keep)}).empty());
  }
  // The frames of a PNG's chunks are 12 bytes, its header's data 13; what follows are the pixels.
  constexpr std::ptrdiff_t kPixels = 8 + 12 + 13;
  auto hollow = whole;
  hollow.erase(hollow.begin() + kPixels, hollow.end() - 12);
  CHECK(contains(bad(hollow), "damaged PNG: "));
  for (std::size_t i = 8; i < whole.size(); ++i) {
    CAPTURE(i);
    auto flipped = whole;
    flipped[i] ^= 0x10U;
    CHECK(contains(bad(flipped), "damaged PNG"));
  }
}

TEST_CASE("codec: a header that claims too many pixels reserves nothing") {
  auto png = test::png(test::plain(4, 4, 1, 2, 3), 4, 4);
  CHECK_THROWS_AS(static_cast<void>(decode_image(png, {.max_pixels = 15})), DataError);
  CHECK_NOTHROW(static_cast<void>(decode_image(png, {.max_pixels = 16})));
  CHECK_THROWS_AS(static_cast<void>(decode_image(red_jpeg(), {.max_pixels = 63})), DataError);
}

TEST_CASE("resize: equal sizes copy, plain colours stay, halves are averages") {
  const Image plain{6, 10, test::plain(6, 10, 9, 80, 255)};
  CHECK(resize_and_crop(plain, 6, 10).pixels == plain.pixels);
  const Image other = resize_and_crop(plain, 7, 3);
  CHECK(other.pixels == test::plain(7, 3, 9, 80, 255));

  // 4 columns to 2: the triangle filter of reach 2 at centre 1 takes columns 0..2 with weights
  // .75 .75 .25, over their sum 1.75 (PIL: the border is renormalized).
  Image ramp{4, 4, {}};
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 4; ++x) ramp.pixels.insert(ramp.pixels.end(), 3, std::uint8_t(x * 60));
  const Image half = resize_and_crop(ramp, 2, 2);
  const double left = (0.75 * 0 + 0.75 * 60 + 0.25 * 120) / 1.75;
  CHECK(half.pixels[0] == std::lround(left));
  CHECK(half.pixels[3] == std::lround(180 - left));
}

TEST_CASE("resize: a size of zero is an error") {
  CHECK_THROWS_WITH_AS(static_cast<void>(resize_and_crop(decode_image(red_jpeg()), 0, 4)),
                       doctest::Contains("resize: to 4x0 pixels"),
                       UsageError);
}

TEST_CASE("resize: keeps proportions and crops to the centre") {
  Image wide{2, 6, {}};
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 6; ++x) wide.pixels.insert(wide.pixels.end(), 3, std::uint8_t(x * 10));
  CHECK(resize_and_crop(wide, 2, 2).pixels ==
        std::vector<std::uint8_t>{20, 20, 20, 30, 30, 30, 20, 20, 20, 30, 30, 30});
}

TEST_CASE("folder: train and valid folders, classes by name, files by path") {
  const test::TemporaryFolder folder;
  fill_class(folder.path() / "train" / "café noir", 3, 10);
  fill_class(folder.path() / "train" / "Zebra", 2, 20);
  fill_class(folder.path() / "valid" / "café noir", 1, 30);
  fill_class(folder.path() / "valid" / "Zebra", 1, 40);
  fill_class(folder.path() / "test" / "Zebra", 5, 50);
  fill_class(folder.path() / "train" / ".hidden", 5, 60);
  test::write_bytes(folder.path() / "train" / "Zebra" / "notes.txt", {1});
  test::write_bytes(folder.path() / "train" / "Zebra" / "deep" / "one.JPG",
                    test::jpeg(test::plain(4, 4, 7, 7, 7), 4, 4));
  const DataPair pair = from_folder(folder.path());
  CHECK(pair.train.classes == std::vector<std::string>{"Zebra", "café noir"});
  CHECK(pair.valid.classes == pair.train.classes);
  CHECK(pair.train.labels == std::vector<std::int64_t>{0, 0, 0, 1, 1, 1});
  CHECK(pair.valid.size() == 2);
  CHECK(pair.train.image(4)[1] == 1);  // the second image of café noir
  CHECK(contains(pair.train.files[0], "deep/one.JPG"));
  CHECK(pair.train.name == folder.path().filename().string());
  CHECK_FALSE(pair.train.synthetic);
  CHECK_NOTHROW(pair.train.validate());

  SUBCASE("chosen classes, in the order given") {
    const DataPair one = from_folder(folder.path(), {.classes = {"café noir", "Zebra"}});
    CHECK(one.train.labels == std::vector<std::int64_t>{0, 0, 0, 1, 1, 1});
    CHECK(one.train.image(0)[0] == 10);
    const DataPair single = from_folder(folder.path(), {.classes = {"café noir"}});
    CHECK(single.train.size() == 3);
    CHECK(contains(error_of(folder.path(), {.classes = {"lion"}}),
                   "has no image of class 'lion'; it has: Zebra, café noir"));
    fill_class(folder.path() / "valid" / "yak", 1, 30);
    CHECK(contains(error_of(folder.path(), {.classes = {"Zebra", "yak"}}),
                   "has no training image of class 'yak'"));
  }
  SUBCASE("a folder for tests is for validation if there is no other") {
    fs::remove_all(folder.path() / "valid");
    fill_class(folder.path() / "test" / "café noir", 1, 50);
    CHECK(from_folder(folder.path()).valid.size() == 6);
  }
  SUBCASE("a split takes training images alone: the test folder is never mixed in") {
    const DataPair split = from_folder(folder.path(), {.valid_fraction = 0.34});
    CHECK(split.train.size() + split.valid.size() == 6);
    for (const Dataset* part : {&split.train, &split.valid})
      for (const std::string& file : part->files) CHECK(contains(file, "/train/"));
  }
  SUBCASE("a class that only the training folder has shifts no label: a warning names it") {
    for (const bool empty : {false, true}) {
      CAPTURE(empty);
      fs::remove_all(folder.path() / "valid" / "Zebra");
      if (empty) fs::create_directories(folder.path() / "valid" / "Zebra");
      const test::LogFile log;
      const DataPair without = from_folder(folder.path());
      CHECK(without.train.classes == pair.train.classes);
      CHECK(without.valid.classes == pair.train.classes);
      CHECK(without.valid.labels == std::vector<std::int64_t>{1});
      CHECK(log.count(
                "' has no validation images of 'Zebra': metrics do not cover these classes") == 1);
    }
  }
  SUBCASE("a class that only the validation folder has") {
    fill_class(folder.path() / "valid" / "yak", 1, 30);
    CHECK(contains(error_of(folder.path()),
                   "'valid/yak/image 100.png' is 'yak', which is not in the training part: it has "
                   "Zebra, café noir"));
  }
}

TEST_CASE("folder: impossible options are refused") {
  const test::TemporaryFolder folder;
  fill_class(folder.path() / "a", 2, 10);
  const auto refused = [&](const FolderOptions& options) {
    return text_of<UsageError>([&] { static_cast<void>(from_folder(folder.path(), options)); });
  };
  CHECK(refused({.classes = {"a", "a"}}) == "class 'a' is named twice");
  CHECK(refused({.decoding = {.size = ImageSize{4, 0}}}) ==
        "image size 0x4: each side must be at least 1");
  CHECK(refused({.decoding = {.size = ImageSize{0, 4}}}) ==
        "image size 4x0: each side must be at least 1");
  CHECK(refused({.decoding = {.max_bad = 2}}) == "the share of bad files must be in [0, 1], not 2");
  CHECK(refused({.decoding = {.max_bad = -0.1}}) ==
        "the share of bad files must be in [0, 1], not -0.1");
  CHECK(contains(refused({.valid_fraction = 0.5, .valid_regex = "_0"}),
                 "('_0') cannot be combined with a share"));
}

TEST_CASE("folder: training and validation images of different sizes") {
  const test::TemporaryFolder folder;
  fill_class(folder.path() / "train" / "a", 2, 10);
  test::write_bytes(folder.path() / "valid" / "a" / "1.png",
                    test::png(test::plain(6, 5, 1, 2, 3), 6, 5));
  CHECK(contains(error_of(folder.path()), "training images are 4x4, validation images 5x6; "));
  // One side is enough.
  for (const auto& [height, width, text] :
       {std::tuple{4, 5, "training images are 4x4, validation images 5x4; "},
        {5, 4, "training images are 4x4, validation images 4x5; "}}) {
    test::write_bytes(folder.path() / "valid" / "a" / "1.png",
                      test::png(test::plain(height, width, 1, 2, 3), height, width));
    CHECK(contains(error_of(folder.path()), text));
  }
}

TEST_CASE("folder: a class that the model does not have is refused in an evaluation") {
  const test::TemporaryFolder folder;
  fill_class(folder.path() / "cat", 1, 10);
  fill_class(folder.path() / "yak", 1, 10);
  const std::string text = text_of<DataError>([&] {
    static_cast<void>(evaluation_folder(*open_tree(folder.path()), {.classes = {"cat", "dog"}}));
  });
  CHECK(contains(text, "'yak/image 100.png' is 'yak', which is not in the model: it has cat, dog"));
}

TEST_CASE(
    "folder: without a train folder the split is by seed, and names of parts are not classes") {
  const test::TemporaryFolder folder;
  fill_class(folder.path() / "a", 10, 10);
  fill_class(folder.path() / "b", 10, 20);
  const DataPair pair = from_folder(folder.path());
  CHECK(pair.train.size() == 16);
  CHECK(pair.valid.size() == 4);
  std::set<std::string> files(pair.train.files.begin(), pair.train.files.end());
  for (const std::string& file : pair.valid.files) CHECK(files.insert(file).second);
  CHECK(files.size() == 20);
  CHECK(from_folder(folder.path()).valid.files == pair.valid.files);
  CHECK(from_folder(folder.path(), {.seed = 1}).valid.files != pair.valid.files);

  fill_class(folder.path() / "test", 10, 30);
  CHECK(contains(error_of(folder.path()), "is not used as a class"));
}

TEST_CASE("folder: empty and missing folders") {
  const test::TemporaryFolder folder;
  CHECK(contains(error_of(folder.path() / "nothing"), "does not exist"));
  CHECK(contains(error_of(folder.path()), "has no class folders with images: it is empty"));
  fill_class(folder.path() / "train" / "a", 2, 10);
  CHECK(contains(error_of(folder.path()), "without a validation folder (valid, val, test, ...)"));
  fill_class(folder.path() / "valid" / "a", 2, 20);
  CHECK(error_of(folder.path()).empty());
  fs::create_directories(folder.path() / "train" / "empty class");
  const std::string text = error_of(folder.path());
  CHECK(contains(text, "empty class"));
  CHECK(contains(text, "has no .jpg"));
  test::write_bytes(folder.path() / "train" / "empty class" / "a.heic", {1, 2});
  CHECK(contains(error_of(folder.path()), "fill or remove it; it has 1 file: 1 .heic"));
}

TEST_CASE("folder: undecodable files are listed, or skipped when a share is allowed") {
  const test::TemporaryFolder folder;
  fill_class(folder.path() / "a", 9, 10);
  fill_class(folder.path() / "b", 10, 20);
  auto broken = red_jpeg();
  broken.resize(broken.size() / 2);
  test::write_bytes(folder.path() / "a" / "half.jpg", broken);
  const std::string text = error_of(folder.path());
  CHECK(contains(text, "1 of 20 files"));
  CHECK(contains(text, "a/half.jpg: damaged JPEG"));
  CHECK(contains(text, "':max_bad=SHARE' after the path, a share of 0.0500 or more"));
  CHECK(contains(error_of(folder.path(), {.decoding = {.max_bad = 0.01}}), "1 of 20 files"));
  const DataPair pair = from_folder(folder.path(), {.decoding = {.max_bad = 0.05}});
  CHECK(pair.train.size() + pair.valid.size() == 19);
  for (const Dataset* set : {&pair.train, &pair.valid})
    for (std::int64_t i = 0; i < set->size(); ++i) {
      const Image image = decode_image(test::read_bytes(set->files[static_cast<std::size_t>(i)]));
      CHECK(std::ranges::equal(set->image(i), image.pixels));
      CHECK(set->classes[static_cast<std::size_t>(set->labels[static_cast<std::size_t>(i)])] ==
            fs::path(set->files[static_cast<std::size_t>(i)]).parent_path().filename());
    }

  test::write_bytes(folder.path() / "c" / "only.png", {1, 2, 3});
  CHECK(contains(error_of(folder.path(), {.decoding = {.max_bad = 0.5}}), "no file of class 'c'"));
}

TEST_CASE("folder: several sizes need a size to scale to") {
  const test::TemporaryFolder folder;
  fill_class(folder.path() / "a", 4, 10);
  test::write_bytes(folder.path() / "b" / "large.png",
                    test::png(test::plain(10, 20, 5, 6, 7), 10, 20));
  test::write_bytes(folder.path() / "b" / "small.png", test::png(test::plain(3, 3, 5, 6, 7), 3, 3));
  const std::string text = error_of(folder.path(), {.valid_fraction = 0.5});
  CHECK(contains(text, "100.png' is 4x4"));
  CHECK(contains(text, "b/large.png' is 20x10"));  // the first one, though small.png differs too
  CHECK(contains(text, "--image-size N, or append ':size=N' to the path"));
  const DataPair pair =
      from_folder(folder.path(), {.valid_fraction = 0.5, .decoding = {.size = ImageSize{6, 6}}});
  CHECK(pair.train.height == 6);
  CHECK(pair.train.width == 6);
  CHECK(pair.train.size() + pair.valid.size() == 6);
}

TEST_CASE("folder: images of one height and several widths have several sizes") {
  const test::TemporaryFolder folder;
  fill_class(folder.path() / "a", 4, 10);
  test::write_bytes(folder.path() / "b" / "wide.png", test::png(test::plain(4, 6, 5, 6, 7), 4, 6));
  CHECK(contains(error_of(folder.path()), "b/wide.png' is 6x4"));
}

TEST_CASE("folder: small files of many pixels are refused before they fill the memory") {
  const test::TemporaryFolder folder;
  const std::vector<std::uint8_t> black =
      test::png(std::vector<std::uint8_t>(std::size_t{4000} * 4000), 4000, 4000, 1);
  REQUIRE(black.size() < 100'000);
  for (int i = 0; i < 30; ++i)
    test::write_bytes(folder.path() / (i < 15 ? "a" : "b") / (std::to_string(i) + ".png"), black);
  const std::string text = error_of(folder.path());
  CAPTURE(text);
  CHECK(contains(text, "30 images of 4000x4000 in "));
  CHECK(contains(text, "need 1373 MiB of memory, more than photographs"));
  CHECK(contains(text, "--image-size N"));
}

TEST_CASE("folder: a class name that would garble a checkpoint or a terminal is refused") {
  for (const char* name : {"two\nlines",
                           "tab\tin it",
                           "\x1B[31mred",
                           "bell\x07",
                           "del\x7F",
                           "latin \xE9",
                           "right to left \u202E",
                           "isolated \u2067",
                           "\u2069"}) {
    const test::TemporaryFolder folder;
    fill_class(folder.path() / "a", 2, 10);
    fill_class(folder.path() / name, 2, 10);
    const std::string text = error_of(folder.path());
    CAPTURE(text);
    CHECK(contains(text, "rename it"));
  }
}
