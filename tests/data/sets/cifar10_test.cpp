#include "data/sets/cifar10.h"

#include "data/sets/synthetic10.h"
#include "framework/core/error.h"
#include "framework/io/digest.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace learn;
using namespace learn::data;
using test::text_of;

namespace {

constexpr std::string_view kAbc = "abc";

std::vector<std::uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

/// Three records written by hand: label, then plane after plane. Pixel (y,x) of record r is
/// red = y, green = 100 + x, blue = 200 + r.
std::vector<std::uint8_t> three_records(std::vector<std::uint8_t> labels,
                                        bool coarse_first = false) {
  std::vector<std::uint8_t> bytes;
  for (std::uint8_t r = 0; r < 3; ++r) {
    if (coarse_first) bytes.push_back(19);
    bytes.push_back(labels[r]);
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x) bytes.push_back(static_cast<std::uint8_t>(y));
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x) bytes.push_back(static_cast<std::uint8_t>(100 + x));
    for (int i = 0; i < 1024; ++i) bytes.push_back(static_cast<std::uint8_t>(200 + r));
  }
  return bytes;
}

void check_pixels(const Dataset& set) {
  REQUIRE(set.pixels.size() == 3 * 3072);
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t y = 0; y < 32; ++y)
      for (std::size_t x = 0; x < 32; ++x) {
        const std::size_t at = ((r * 32 + y) * 32 + x) * 3;
        REQUIRE(set.pixels[at] == y);
        REQUIRE(set.pixels[at + 1] == 100 + x);
        REQUIRE(set.pixels[at + 2] == 200 + r);
      }
}

}  // namespace

TEST_CASE("digests: RFC 1321 and FIPS 180 vectors") {
  CHECK(md5_hex({}) == "d41d8cd98f00b204e9800998ecf8427e");
  CHECK(md5_hex(bytes_of(kAbc)) == "900150983cd24fb0d6963f7d28e17f72");
  CHECK(sha256_hex(bytes_of(kAbc)) ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("cifar: hand-made CIFAR-10 records, planes become pixels") {
  Dataset set;
  add_cifar_records(three_records({0, 9, 4}), "batch.bin", {}, 3, set);
  CHECK(set.labels == std::vector<std::int64_t>{0, 9, 4});
  check_pixels(set);
}

TEST_CASE("cifar: hand-made CIFAR-100 records, the fine label counts") {
  Dataset set;
  add_cifar_records(three_records({0, 99, 57}, true),
                    "train.bin",
                    {.label_bytes = 2, .label_at = 1, .classes = 100},
                    3,
                    set);
  CHECK(set.labels == std::vector<std::int64_t>{0, 99, 57});
  check_pixels(set);
}

TEST_CASE("cifar: wrong sizes and labels are data errors that say where") {
  const auto error = [](const std::vector<std::uint8_t>& bytes) {
    Dataset set;
    return text_of<DataError>([&] { add_cifar_records(bytes, "batch.bin", {}, 3, set); });
  };
  const std::vector<std::uint8_t> good = three_records({0, 9, 4});
  CHECK(error(good).empty());
  auto longer = good;
  longer.push_back(0);
  CHECK(error(longer).find("'batch.bin' has 9220 bytes, expected 9219") == 0);
  auto shorter = good;
  shorter.pop_back();
  CHECK(error(shorter).find("'batch.bin' has 9218 bytes, expected 9219") == 0);
  CHECK(error(three_records({0, 9, 10}))
            .find("'batch.bin': record 2 (byte 6146) has label 10, expected 0 to 9") == 0);
}

TEST_CASE("cifar: only the published files with their class names get the name CIFAR-10") {
  const std::vector<std::string> names{
      "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  CHECK(cifar10_name(true, names) == "cifar10");
  CHECK(cifar10_name(false, names) == "cifar10-layout");
  CHECK(cifar10_name(true, {"a", "b"}) == "cifar10-layout");
  CHECK(cifar10_name(false, synthetic_classes()) == "synthetic10-files");
  CHECK(cifar10_name(true, synthetic_classes()) == "cifar10-layout");
}

TEST_CASE("cifar: of CIFAR-100's two labels the fine one is read") {
  const test::TemporaryFolder folder;
  std::vector<std::uint8_t> record(3074, 7), bytes;
  for (int i = 0; i < 10'000; ++i) {
    record[0] = 19;
    record[1] = static_cast<std::uint8_t>(i % 100);
    bytes.insert(bytes.end(), record.begin(), record.end());
  }
  test::write_bytes(folder.path() / "test.bin", bytes);
  std::string names;
  for (int i = 0; i < 100; ++i) names += fmt::format("class {}\n", i);
  test::write_bytes(folder.path() / "fine_label_names.txt", bytes_of(names));
  const Dataset set = read_cifar100(*open_tree(folder.path()), Split::test, {.verify = false});
  CHECK(set.name == "cifar100-layout");
  CHECK(set.split == Split::test);
  CHECK(set.classes[99] == "class 99");
  CHECK(class_counts(set) == std::vector<std::int64_t>(100, 100));
}

TEST_CASE("cifar: a folder without the files names the first that is missing") {
  const test::TemporaryFolder folder;
  const std::string train = text_of<DataError>(
      [&] { static_cast<void>(read_cifar10(*open_tree(folder.path()), Split::train)); });
  CHECK(train.find("data_batch_1.bin' is missing") != std::string::npos);
  const std::string test = text_of<DataError>(
      [&] { static_cast<void>(read_cifar100(*open_tree(folder.path()), Split::test)); });
  CHECK(test.find("test.bin' is missing") != std::string::npos);
}

TEST_CASE("cifar: a file that is far too large is not read") {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "data_batch_1.bin";
  test::write_bytes(file, {});
  std::filesystem::resize_file(file,
                               (std::uintmax_t{256} << 20U) + 1);  // takes no room on the disk
  CHECK(text_of<DataError>([&] {
          static_cast<void>(read_cifar10(*open_tree(folder.path()), Split::train));
        }) == fmt::format("cannot read '{}': 268435457 bytes; at most 268435456 are read",
                          file.string()));
}

TEST_CASE("cifar: files that are not the original are refused, or named as such") {
  const test::TemporaryFolder folder;
  std::vector<std::uint8_t> record(3073, 7);
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < 10'000; ++i) {
    record[0] = static_cast<std::uint8_t>(i % 10);
    bytes.insert(bytes.end(), record.begin(), record.end());
  }
  test::write_bytes(folder.path() / "test_batch.bin", bytes);
  const auto read = [&](bool verify) {
    return read_cifar10(*open_tree(folder.path()), Split::test, {.verify = verify});
  };
  CHECK(text_of<DataError>([&] { static_cast<void>(read(false)); }).find("batches.meta.txt") !=
        std::string::npos);

  test::write_bytes(
      folder.path() / "batches.meta.txt",
      bytes_of("airplane\nautomobile\nbird\ncat\ndeer\r\ndog\nfrog\nhorse\nship\ntruck\n\n"));
  const Dataset set = read(false);
  CHECK(set.name == "cifar10-layout");
  CHECK_FALSE(set.synthetic);
  CHECK(set.split == Split::test);
  CHECK(set.classes[4] == "deer");
  CHECK(class_counts(set) == std::vector<std::int64_t>(10, 1000));
  const std::string refused = text_of<DataError>([&] { static_cast<void>(read(true)); });
  CAPTURE(refused);
  CHECK(refused.find("its MD5 is " + md5_hex(bytes)) != std::string::npos);
  CHECK(refused.find("the published one 803d5f7f4d78ea53de84dbe85f74fb6d") != std::string::npos);

  test::write_bytes(folder.path() / "batches.meta.txt", bytes_of("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"));
  CHECK(read(false).name == "cifar10-layout");
  for (const char* bad :
       {"a\nb\n", "a\nb\nc\nd\ne\nf\ng\nh\ni\na\n", "a\nb\nc\nd\ne\nf\ng\nh\ni\n\x1B[1m\n"}) {
    CAPTURE(bad);
    test::write_bytes(folder.path() / "batches.meta.txt", bytes_of(bad));
    CHECK(text_of<DataError>([&] { static_cast<void>(read(false)); }).find("batches.meta.txt'") !=
          std::string::npos);
  }
}
