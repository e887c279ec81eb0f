#include "data/sets/synthetic10.h"

#include "data/sets/cifar10.h"
#include "framework/core/error.h"
#include "framework/io/digest.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

using namespace learn;
using namespace learn::data;

namespace {

std::string file_sum(const std::filesystem::path& path) {
  return sha256_hex(test::read_bytes(path));
}

/// Records of a CIFAR file, as the generator makes them.
std::vector<std::uint8_t> records(SyntheticLevel level,
                                  Split split,
                                  std::int64_t first,
                                  std::int64_t count) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count) * 3073);
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint8_t* record = &bytes[static_cast<std::size_t>(i) * 3073];
    *record = synthetic_label(0, split, first + i);
    draw_synthetic(level, 0, split, first + i, std::span<std::uint8_t, 3072>(record + 1, 3072));
  }
  return bytes;
}

std::string records_sum(SyntheticLevel level, Split split, std::int64_t count) {
  return sha256_hex(records(level, split, 0, count));
}

/// The folder that the programs of CIFAR-10 read.
void write_cifar_layout(const std::filesystem::path& folder) {
  constexpr std::int64_t kPerFile = 10'000;
  const auto write = [&](const std::string& name, Split split, std::int64_t first) {
    test::write_bytes(folder / name, records(SyntheticLevel::normal, split, first, kPerFile));
  };
  for (std::int64_t i = 0; i < 5; ++i)
    write("data_batch_" + std::to_string(i + 1) + ".bin", Split::train, i * kPerFile);
  write("test_batch.bin", Split::test, 0);
  std::string names;
  for (const std::string& name : synthetic_classes()) names += name + '\n';
  test::write_bytes(folder / "batches.meta.txt",
                    std::vector<std::uint8_t>(names.begin(), names.end()));
}

}  // namespace

// The checksums are those of the calibrated generator: if one changes, results of before and after
// cannot be compared, and the data set needs a new name.
TEST_CASE("synthetic10: the first records have the pinned checksum") {
  CHECK(records_sum(SyntheticLevel::normal, Split::test, 10) ==
        "b4e1ef8f071ce9251dfc15f66c5dc79e7c6a965738deee4e2f490e0eaaf50ee9");
}

TEST_SUITE("slow") {
  TEST_CASE("synthetic10: every file has the pinned checksum and reads as CIFAR layout") {
    const test::TemporaryFolder folder;
    write_cifar_layout(folder.path());
    const std::vector<std::pair<std::string, std::string_view>> sums{
        {"data_batch_1.bin", "08269820df11ddbe419a5a5183541c23d9b31b7ba2f03191fc8e7cc94e04f906"},
        {"data_batch_2.bin", "8fa431a89789e28aafbea9ed81a6913e33b1cd23e3722d222b75096dd12481f5"},
        {"data_batch_3.bin", "07030c6e17c9ea4f9eb99fde973ab8b02663dc1526b52c7e4ae389972b2f6dfb"},
        {"data_batch_4.bin", "ff40b7b4b46daa15e16a7fea04ce8f61e2eedbe676b3ffdd41f4d4fde58236cd"},
        {"data_batch_5.bin", "b155af3ed3608c38ce5acfc5e35a51e3c562dd94e580062971da8d531b5a6db4"},
        {"test_batch.bin", "cde574b35cdbcb406822648b1a74c14cabda83680a71a6f2453a7d8e858454f8"},
        {"batches.meta.txt", "80ca1570d6fe1055530afbd9a13e2f894f6c526a2a32cffe465d927e7d62b702"}};
    for (const auto& one : sums) {
      INFO(one.first);
      CHECK(file_sum(folder.path() / one.first) == one.second);
    }
    const Dataset train = read_cifar10(*open_tree(folder.path()), Split::train, {.verify = false});
    CHECK(train.synthetic);
    CHECK(train.name == "synthetic10-files");
    const Dataset direct = synthetic10({.split = Split::train});
    CHECK(train.fingerprint() == direct.fingerprint());
    CHECK(class_counts(train) == std::vector<std::int64_t>(10, 5000));

    SUBCASE("no image of the test part is in the training part") {
      const Dataset held_out = synthetic10({.split = Split::test});
      std::set<std::string_view> seen;
      const auto text = [](const Dataset& set, std::int64_t i) {
        const auto image = set.image(i);
        return std::string_view(reinterpret_cast<const char*>(image.data()), image.size());
      };
      for (std::int64_t i = 0; i < direct.size(); ++i) CHECK(seen.insert(text(direct, i)).second);
      for (std::int64_t i = 0; i < held_out.size(); ++i)
        CHECK(seen.insert(text(held_out, i)).second);
    }
  }

  TEST_CASE("synthetic10-hard: the test file has the pinned checksum") {
    CHECK(records_sum(SyntheticLevel::hard, Split::test, 10'000) ==
          "aa7e33945592faa2c2bb4a08a556cbe340597590322e9bfcf0fcb478b5143219");
  }
}

TEST_CASE("synthetic10: any part, with any number of threads, is the same images") {
  const Dataset whole = synthetic10({.count = 600, .threads = 3});
  const Dataset part = synthetic10({.first = 290, .count = 40, .threads = 1});
  REQUIRE(part.size() == 40);
  for (std::int64_t i = 0; i < 40; ++i) {
    CHECK(part.labels[static_cast<std::size_t>(i)] ==
          whole.labels[static_cast<std::size_t>(290 + i)]);
    CHECK(std::ranges::equal(part.image(i), whole.image(290 + i)));
  }
  CHECK(class_counts(whole) == std::vector<std::int64_t>(10, 60));
  CHECK(whole.synthetic);
  CHECK_FALSE(std::ranges::equal(synthetic10({.seed = 1, .count = 1}).pixels,
                                 synthetic10({.seed = 2, .count = 1}).pixels));
}

TEST_CASE("synthetic10: a range outside the split is an error") {
  CHECK_THROWS_AS(static_cast<void>(synthetic10({.first = 49'999, .count = 2})), UsageError);
  CHECK_THROWS_AS(static_cast<void>(synthetic10({.split = Split::test, .count = 10'001})),
                  UsageError);
  CHECK_THROWS_AS(static_cast<void>(synthetic10({.first = -1, .count = 2})), UsageError);
  CHECK_THROWS_AS(static_cast<void>(synthetic10({.count = -1})), UsageError);
  CHECK_THROWS_AS(static_cast<void>(synthetic10({.split = Split::test, .first = 10'000})),
                  UsageError);
}

TEST_CASE("synthetic10: progress ends at the total") {
  std::int64_t last = 0;
  std::int64_t total = 0;
  static_cast<void>(synthetic10({.count = 300, .progress = [&](std::int64_t d, std::int64_t t) {
                                   CHECK(d > last);
                                   last = d;
                                   total = t;
                                 }}));
  CHECK(last == 300);
  CHECK(total == 300);
}
