#include "data/sets/registry.h"

#include "data/sets/synthetic10.h"
#include "framework/core/error.h"
#include "tests/data/images.h"

#include <doctest/doctest.h>

#include <string>

using namespace learn;
using namespace learn::data;
using test::text_of;

namespace {

std::vector<std::uint8_t> cifar_file(std::uint8_t first_label) {
  std::vector<std::uint8_t> bytes(std::size_t{10'000} * 3073, 3);
  for (std::size_t i = 0; i < 10'000; ++i)
    bytes[i * 3073] = static_cast<std::uint8_t>((first_label + i) % 10);
  return bytes;
}

/// A folder that has CIFAR-10's layout and class names, but other images.
void write_fake_cifar(const std::filesystem::path& place) {
  for (std::uint8_t i = 1; i <= 5; ++i)
    test::write_bytes(place / ("data_batch_" + std::to_string(i) + ".bin"), cifar_file(i));
  test::write_bytes(place / "test_batch.bin", cifar_file(0));
  const std::string names =
      "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n";
  test::write_bytes(place / "batches.meta.txt", {names.begin(), names.end()});
}

void fill(const std::filesystem::path& class_folder) {
  test::write_bytes(class_folder / "1.png", test::png(test::plain(4, 4, 1, 2, 3), 4, 4));
}

}  // namespace

TEST_CASE("registry: quick synthetic data by name") {
  const DataPair pair = load("synthetic10", {.train_limit = 200, .valid_limit = 100});
  CHECK(pair.train.size() == 200);
  CHECK(pair.valid.size() == 100);
  CHECK(pair.train.name == "synthetic10");
  CHECK(pair.train.fingerprint() == synthetic10({.count = 200}).fingerprint());
  CHECK(pair.valid.split == Split::test);
  const DataPair hard = load("synthetic10-hard", {.train_limit = 20, .valid_limit = 20});
  CHECK(hard.train.name == "synthetic10-hard");
  CHECK(hard.train.fingerprint() != synthetic10({.count = 20}).fingerprint());
}

TEST_CASE("registry: missing data are refused, never replaced") {
  const test::TemporaryFolder folder;
  const DataOptions options{.directory = folder.path(), .train_limit = 20, .valid_limit = 20};
  const std::string unnamed =
      text_of<UsageError>([&] { static_cast<void>(load("auto", options)); });
  for (const char* const way : {"--data PATH ", "--data synthetic10 ", "--data-dir DIR "})
    CHECK(unnamed.find(way) != std::string::npos);
  CHECK(unnamed.find((folder.path() / "cifar-10-binary.tar.gz").string()) != std::string::npos);
  const std::string text = text_of<DataError>([&] { static_cast<void>(load("cifar10", options)); });
  CHECK(text.find("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz") != std::string::npos);
  CHECK(text.find("c32a1d4ab5d03f1284b67883e8d87530") != std::string::npos);
  CHECK(text.find("cifar-10-binary.tar.gz") != std::string::npos);
  CHECK_THROWS_AS(static_cast<void>(load("cifar100", options)), DataError);
}

TEST_CASE(
    "registry: other data in CIFAR-10's place are not taken for it, and classes and limits apply") {
  const test::TemporaryFolder folder;
  write_fake_cifar(folder.path() / "cifar-10-batches-bin");
  const DataOptions options{.directory = folder.path(),
                            .classes = {"dog", "airplane"},
                            .train_limit = 50,
                            .valid_limit = 40};
  const std::string path = (folder.path() / "cifar-10-batches-bin").string();
  for (const std::string& spec : {std::string("auto"), std::string("cifar10"), path}) {
    const DataOptions where = spec == path ? DataOptions{} : options;
    const std::string text = text_of<DataError>([&] { static_cast<void>(load(spec, where)); });
    CAPTURE(text);
    CHECK(text.find("data_batch_1.bin' is not CIFAR-10's: its MD5 is ") != std::string::npos);
    CHECK(text.find("append ':verify=false'") != std::string::npos);
  }
  const DataPair pair = load("cifar10:verify=false", options);
  CHECK(pair.train.name == "cifar10-layout");
  CHECK(pair.train.size() == 50);
  CHECK(pair.valid.size() == 40);
  CHECK(pair.valid.classes == std::vector<std::string>{"dog", "airplane"});

  const DataPair split =
      load("cifar10:verify=false",  // the folder itself may be given
           {.directory = folder.path() / "cifar-10-batches-bin", .valid_fraction = 0.1});
  CHECK(split.train.size() == 45'000);
  CHECK(split.valid.size() == 5'000);
  CHECK(split.valid.split == Split::train);  // the test part was not touched

  CHECK(load(path + ":verify=false", {.train_limit = 50}).train.name == "cifar10-layout");
  for (const char* option : {":size=8", ":parts=false"})
    CHECK(text_of<UsageError>([&] {
            static_cast<void>(load(path + option));
          }).find("only the option verify has an effect") != std::string::npos);
}

TEST_CASE("registry: a path is an image folder, other names are unknown") {
  const test::TemporaryFolder folder;
  for (const char* part : {"train/a", "train/b", "valid/a", "valid/b"}) fill(folder.path() / part);
  CHECK(load(folder.path().string()).train.size() == 2);
  CHECK(text_of<DataError>([] {
          static_cast<void>(load("./nowhere at all"));
        }).find("does not exist") != std::string::npos);
  const std::string text = text_of<UsageError>([] { static_cast<void>(load("cifar1000")); });
  CHECK(text.find("unknown data set 'cifar1000'") != std::string::npos);
  CHECK(text.find("synthetic10-hard") != std::string::npos);
}

TEST_CASE("registry: options that a data set does not use are refused") {
  const test::TemporaryFolder folder;
  for (const char* part : {"train/a", "train/b", "valid/a", "valid/b"})
    fill(folder.path() / "a:b" / part);
  const std::string path = (folder.path() / "a:b").string();  // a path may hold a colon
  CHECK(load(path).train.size() == 2);
  CHECK(load(Spec{"folder", {{"path", path}, {"size", "2"}}}, {}).train.height == 2);
  const auto refused = [](const std::string& spec, const DataOptions& options, const char* why) {
    const std::string text = text_of<UsageError>([&] { static_cast<void>(load(spec, options)); });
    CAPTURE(text);
    CHECK(text.find(why) != std::string::npos);
  };
  refused("synthetic10:size=8", {}, "synthetic10 has no option 'size'");
  refused("synthetic10", {.directory = "somewhere"}, "'somewhere' has no effect");
  refused(path, {.directory = "somewhere"}, "'somewhere' has no effect");
  refused("folder", {}, "give its path");
  refused("folder:path=" + path + ",verify=false", {}, "verify=false has no effect");
  refused("folder:path=" + path + ",cache=7", {}, "cache=7 has no effect without stream=true");
  refused("folder:path=" + path + ",stream=true", {}, "streamed images need one size");
  refused("cifar10:verfy=true", {}, "did you mean 'verify'?");
  refused("synthetic10", {.train_limit = -1}, "must be 0 (all) or more, not -1");
}

TEST_CASE("registry: one class is refused, in a folder or chosen from more") {
  const test::TemporaryFolder folder;
  fill(folder.path() / "train" / "cat");
  fill(folder.path() / "valid" / "cat");
  const auto error = [](const std::string& spec, const DataOptions& options) {
    return text_of<DataError>([&] { static_cast<void>(load(spec, options)); });
  };
  CHECK(error(folder.path().string(), {}).find("has one class, 'cat': there is nothing to learn") !=
        std::string::npos);
  fill(folder.path() / "train" / "dog");
  fill(folder.path() / "valid" / "dog");
  CHECK(error(folder.path().string(), {}).empty());
  CHECK(error(folder.path().string(), {.classes = {"dog"}}).find("has one class, 'dog'") !=
        std::string::npos);
}
