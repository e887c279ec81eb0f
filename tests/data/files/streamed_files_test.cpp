#include "data/files/streamed_files.h"

#include "data/images/image.h"
#include "data/loading/loaders.h"
#include "data/sets/image_folder.h"
#include "framework/core/error.h"
#include "tests/data/images.h"
#include "tests/support/log_file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

using namespace learn;
using namespace learn::data;

namespace {

/// 30 images of two classes and several sizes, each in a different colour.
class Photos {
 public:
  Photos() {
    for (int i = 0; i < 30; ++i) {
      const auto colour = static_cast<std::uint8_t>(8 * i);
      const std::int64_t side = 10 + i % 3;
      test::write_bytes(path(i),
                        test::png(test::plain(side, side + 2, colour, 9, 200), side, side + 2));
    }
  }
  [[nodiscard]] std::filesystem::path path(int i) const {
    return folder_.path() / (i % 2 == 0 ? "a" : "b") / fmt::format("{:02}.png", i);
  }
  [[nodiscard]] DataPair read(FolderOptions options) const {
    options.decoding.size = ImageSize{8, 8};
    return from_folder(folder_.path(), options);
  }

 private:
  test::TemporaryFolder folder_;
};

using Copy = std::pair<std::vector<std::int64_t>, std::vector<float>>;

std::vector<Copy> pass(Context& ctx, const Dataset& set, int workers, std::vector<Transform> list) {
  Loader loader(
      ctx,
      set,
      {.batch_size = 10, .shuffle = true, .workers = workers, .transforms = std::move(list)});
  std::vector<Copy> all;
  for (const std::int64_t epoch : {0, 1}) {
    loader.begin(epoch);
    for (Batch batch; loader.next(batch);) {
      const auto x = batch.x.span<float>();
      all.push_back({batch.index, {x.begin(), x.end()}});
    }
  }
  return all;
}

}  // namespace

TEST_CASE("images that stay in their files are those in memory, for any workers and any cache") {
  Context ctx({.threads = 1});
  const Photos photos;
  const DataPair memory = photos.read({.valid_fraction = 0.2});
  const std::vector<Transform> list{Pad{1}, RandomCrop{}, FlipLr{}};
  const std::vector<Copy> expected = pass(ctx, memory.train, 0, list);
  REQUIRE(expected.size() == 6);
  std::string print;
  for (const std::int64_t cached : {0, 5, 100})
    for (const int workers : {0, 1, 4}) {
      const DataPair files = photos.read(
          {.valid_fraction = 0.2, .decoding = {.stream = true, .cache_bytes = cached * 8 * 8 * 3}});
      CHECK(files.train.pixels.empty());
      CHECK(files.train.files == memory.train.files);
      CHECK(pass(ctx, files.train, workers, list) == expected);
      if (!print.empty()) CHECK(files.train.fingerprint() == print);
      print = files.train.fingerprint();
    }
  CHECK(print != photos.read({.valid_fraction = 0.2, .seed = 2, .decoding = {.stream = true}})
                     .train.fingerprint());
  const DataPair files = photos.read({.valid_fraction = 0.2, .decoding = {.stream = true}});
  CHECK(measure(files.train) == measure(memory.train));
}

TEST_CASE("a step on whole images has them as they are in their files") {
  Context ctx({.threads = 1});
  const Photos photos;
  const DataPair files = photos.read({.decoding = {.stream = true, .cache_bytes = 1 << 20}});
  const std::vector<Transform> list{ImageTransform{[](Image& image, RandomWords) {
    std::ranges::fill(image.pixels, static_cast<std::uint8_t>(image.width));
  }}};
  std::vector<float> seen;
  for (const auto& [index, x] : pass(ctx, files.train, 3, list))
    seen.insert(seen.end(), x.begin(), x.end());
  std::ranges::sort(seen);
  CHECK(seen.front() == 12.0F / 255);
  CHECK(seen.back() == 14.0F / 255);
}

TEST_CASE("a damaged file is named when its turn comes, or found beforehand and skipped") {
  Context ctx({.threads = 1});
  const Photos photos;
  test::write_bytes(photos.path(7), {1, 2, 3});
  const DataPair files = photos.read({.valid_fraction = 0.1, .decoding = {.stream = true}});
  for (const int workers : {0, 3}) {
    const std::string text = test::text_of<DataError>([&] {
      static_cast<void>(pass(ctx, files.train, workers, {}));
      static_cast<void>(pass(ctx, files.valid, workers, {}));
    });
    CHECK(test::contains(text, "07.png' cannot be decoded: it is not JPEG, PNG"));
  }
  const test::LogFile log;
  const DataPair sound =
      photos.read({.valid_fraction = 0.1, .decoding = {.max_bad = 0.05, .stream = true}});
  CHECK(sound.train.size() + sound.valid.size() == 29);
  CHECK(log.count("skipped 1 of 30 files in") == 1);
  CHECK_NOTHROW(static_cast<void>(pass(ctx, sound.train, 2, {})));
  CHECK(test::contains(test::text_of<DataError>([&] {
                         static_cast<void>(
                             photos.read({.decoding = {.max_bad = 0.01, .stream = true}}));
                       }),
                       "a share of 0.0334 or more"));
  for (int i = 1; i < 30; i += 2) test::write_bytes(photos.path(i), {1});
  const std::string text = test::text_of<DataError>(
      [&] { static_cast<void>(photos.read({.decoding = {.max_bad = 0.9, .stream = true}})); });
  CHECK(test::contains(text, "no file of class 'b' in"));
  for (int i = 0; i < 30; i += 2) test::write_bytes(photos.path(i), {1});
  CHECK(test::contains(test::text_of<DataError>([&] {
                         static_cast<void>(
                             photos.read({.decoding = {.max_bad = 0.9, .stream = true}}));
                       }),
                       "and 20 more"));
}

TEST_CASE("data that cannot be streamed are refused") {
  const Photos photos;
  Dataset labelled{.name = "few", .classes = {"a", "b"}, .labels = {0, 1}};
  const auto refused = [&](const DecodeFilesOptions& options, const char* text) {
    CHECK_THROWS_WITH_AS(
        (void)stream_files(labelled, {{}}, "here", options), doctest::Contains(text), UsageError);
  };
  refused({}, "need one size");
  refused({.size = ImageSize{8, 8}}, "'few' has 2 labels for 1 files: each file needs one");
  refused({.size = ImageSize{8, 8}, .max_bad = 2},
          "the share of bad files must be in [0, 1], not 2");
  labelled.labels = {0};
  const ImageFile file{"x.png", photos.path(0), nullptr, {}};
  const Dataset grey =
      stream_files(labelled, {file}, "here", {.size = ImageSize{8, 8}, .channels = 1});
  CHECK(grey.whole_image(0).channels == 1);
}
