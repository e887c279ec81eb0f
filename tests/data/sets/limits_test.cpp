#include "data/sets/image_folder.h"
#include "data/sets/registry.h"
#include "tests/data/images.h"
#include "tests/support/log_file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

// Limits on the samples of a set, which images outside of them cost nothing.

using namespace learn;
using namespace learn::data;
using test::contains;
using test::text_of;
namespace fs = std::filesystem;

namespace {

/// Writes 12 images of each of two classes, all different.
void fill(const fs::path& folder, std::uint8_t tone) {
  for (const char* const name : {"a", "b"})
    for (int i = 0; i < 12; ++i)
      test::write_bytes(
          folder / name / (std::to_string(i) + ".png"),
          test::png(
              test::plain(4, 4, tone, static_cast<std::uint8_t>(i), *name == 'a' ? 9 : 200), 4, 4));
}

void check_equal(const Dataset& got, const Dataset& expected) {
  CHECK(got.fingerprint() == expected.fingerprint());
  CHECK(got.files == expected.files);
  CHECK(got.classes == expected.classes);
  CHECK(got.drawn_from == expected.drawn_from);
}

/// Damages an image of `whole` that `chosen` does not have.
void damage_another(const Dataset& whole, const Dataset& chosen) {
  const auto other = std::ranges::find_if(whole.files, [&](const std::string& file) {
    return std::ranges::find(chosen.files, file) == chosen.files.end();
  });
  REQUIRE(other != whole.files.end());
  test::write_bytes(*other, {1, 2, 3});
}

}  // namespace

TEST_CASE("limits: a set has the images that would be chosen after reading and decodes no other") {
  for (const bool parts : {true, false}) {
    CAPTURE(parts);
    const test::TemporaryFolder folder;
    fill(parts ? folder.path() / "train" : folder.path(), 10);
    if (parts) fill(folder.path() / "valid", 90);
    const std::string path = folder.path().string();
    const DataPair whole = load(path, {});
    const Dataset train = limited(whole.train, 7);
    const Dataset valid = limited(whole.valid, 3);
    CHECK(train.drawn_from == whole.train.size());
    damage_another(whole.train, train);
    damage_another(whole.valid, valid);
    CHECK(contains(text_of<DataError>([&] { static_cast<void>(load(path, {})); }), "decoded"));
    const DataPair pair = load(path, {.train_limit = 7, .valid_limit = 3});
    check_equal(pair.train, train);
    check_equal(pair.valid, valid);
  }
}

TEST_CASE("limits: an evaluation decodes the images within its limit alone") {
  const test::TemporaryFolder folder;
  fill(folder.path(), 10);
  const std::string path = folder.path().string();
  const DataOptions all{.classes = {"a", "b"}, .evaluation = ImageSize{4, 4}};
  const Dataset whole = load(path, all).valid;
  const Dataset some = limited(whole, 5);
  damage_another(whole, some);
  CHECK_THROWS_AS(static_cast<void>(load(path, all)), DataError);
  DataOptions few = all;
  few.valid_limit = 5;
  check_equal(load(path, few).valid, some);
}

TEST_CASE("limits: images are chosen among the readable ones if damaged ones are skipped") {
  const test::TemporaryFolder folder;
  fill(folder.path() / "train", 10);
  fill(folder.path() / "valid", 90);
  test::write_bytes(folder.path() / "train" / "a" / "0.png", {1, 2, 3});
  const std::string path = folder.path().string() + ":max_bad=0.1";
  const DataPair whole = load(path, {});
  CHECK(whole.train.size() == 23);
  const DataPair pair = load(path, {.train_limit = 22, .valid_limit = 4});
  check_equal(pair.train, limited(whole.train, 22));
  check_equal(pair.valid, limited(whole.valid, 4));
}

TEST_CASE("limits: all classes are known and none is reported to lack validation images") {
  const test::TemporaryFolder folder;
  fill(folder.path() / "train", 10);
  fill(folder.path() / "valid", 90);
  const test::LogFile log;
  const DataPair pair = load(folder.path().string(), {.train_limit = 1, .valid_limit = 1});
  CHECK(pair.train.size() == 1);
  CHECK(pair.train.classes == std::vector<std::string>{"a", "b"});
  CHECK_FALSE(contains(log.text(), "no validation images"));
}

TEST_CASE("limits: drawn images record the size of the whole set") {
  const DataPair pair = load("synthetic10", {.train_limit = 20, .valid_limit = 10});
  CHECK(pair.train.drawn_from == 50'000);
  CHECK(pair.valid.drawn_from == 10'000);
}
