#include "data/files/file_tree.h"
#include "data/files/image_files.h"
#include "data/sets/image_folder.h"
#include "data/sets/registry.h"
#include "framework/core/error.h"
#include "tests/data/images.h"

#include <archive.h>
#include <archive_entry.h>
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

using namespace learn;
using namespace learn::data;
using test::contains;
using test::text_of;
namespace fs = std::filesystem;

namespace {

enum class Kind { file, folder, link, hard_link };

struct Member {
  std::string name;
  std::vector<std::uint8_t> bytes;
  Kind kind = Kind::file;
};

/// The compression and format are those of the file's name.
void write_archive(const fs::path& path, const std::vector<Member>& members) {
  const std::unique_ptr<archive, decltype(&archive_write_free)> out(archive_write_new(),
                                                                    archive_write_free);
  REQUIRE(archive_write_set_format_filter_by_ext(out.get(), path.c_str()) == ARCHIVE_OK);
  REQUIRE(archive_write_open_filename(out.get(), path.c_str()) == ARCHIVE_OK);
  for (const Member& member : members) {
    const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(),
                                                                              archive_entry_free);
    archive_entry_set_pathname_utf8(entry.get(), member.name.c_str());
    archive_entry_set_perm(entry.get(), 0644);
    archive_entry_set_filetype(entry.get(),
                               member.kind == Kind::folder ? AE_IFDIR
                               : member.kind == Kind::link ? AE_IFLNK
                                                           : AE_IFREG);
    if (member.kind == Kind::link) archive_entry_set_symlink(entry.get(), "elsewhere");
    if (member.kind == Kind::hard_link) archive_entry_set_hardlink(entry.get(), "elsewhere");
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(member.bytes.size()));
    REQUIRE(archive_write_header(out.get(), entry.get()) >= ARCHIVE_WARN);
    archive_write_data(out.get(), member.bytes.data(), member.bytes.size());
  }
  REQUIRE(archive_write_close(out.get()) == ARCHIVE_OK);
}

std::vector<std::uint8_t> image(std::uint8_t tone) {
  return test::png(test::plain(4, 4, tone, 5, 6), 4, 4);
}

std::vector<Member> members(const std::string& top) {
  return {{top + "valid/dog/9.png", image(9)},
          {top + "train/dog/b/2.png", image(2)},
          {top + "train/dog/b 1.png", image(1)},
          {top + "train/cat/image.PNG", image(3)},
          {top + "valid/cat/", {}, Kind::folder},
          {top + "valid/cat/7.png", image(7)},
          {top + "train/cat/notes.txt", {'x'}},
          {top + "train/.hidden/cat/1.png", image(4)},
          {top + "train/cat/._1.png", {'x'}}};
}

std::string error_of(const fs::path& path) {
  return text_of<DataError>([&] { static_cast<void>(from_folder(path)); });
}

std::string error_of(const fs::path& path, const Member& member) {
  std::vector<Member> all = members("");
  all.push_back(member);
  write_archive(path, all);
  return error_of(path);
}

}  // namespace

TEST_CASE("archive: it has the images of the folder, in the same order") {
  const test::TemporaryFolder folder;
  for (const Member& member : members(""))
    if (member.kind == Kind::file)
      test::write_bytes(folder.path() / "set" / member.name, member.bytes);
  const DataPair expected = from_folder(folder.path() / "set");
  REQUIRE(expected.train.size() == 3);
  for (const char* name : {"set.tar", "set.tar.gz", "set.tar.xz", "set.zip"})
    for (const char* top : {"", "./", "images/", "images/./"}) {
      CAPTURE(name);
      CAPTURE(top);
      const fs::path path = folder.path() / name;
      write_archive(path, members(top));
      const DataPair pair = from_folder(path);
      CHECK(pair.train.name == "set");
      CHECK(pair.train.fingerprint() == expected.train.fingerprint());
      CHECK(pair.valid.fingerprint() == expected.valid.fingerprint());
      CHECK(pair.train.files.back() == (path / "train/dog/b 1.png").string());
      CHECK(load(path.string()).train.fingerprint() == expected.train.fingerprint());
    }
}

TEST_CASE("archive: names outside ASCII, and a split by seed") {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "v1.2.zip";
  std::vector<Member> all;
  for (int i = 0; i < 10; ++i)
    for (const char* name : {"café noir", "Ähre"})
      all.push_back({std::string(name) + "/" + std::to_string(i) + ".png",
                     image(static_cast<std::uint8_t>(i))});
  write_archive(path, all);
  const DataPair pair = from_folder(path);
  CHECK(pair.train.name == "v1.2");
  CHECK(pair.train.classes == std::vector<std::string>{"café noir", "Ähre"});
  CHECK(pair.train.size() == 16);
  CHECK(pair.valid.size() == 4);
}

TEST_CASE("archive: CIFAR's binary files, by path and in the data folder") {
  const test::TemporaryFolder folder;
  std::vector<std::uint8_t> records(10'000UL * 3073, 7);
  const std::string names = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
  std::vector<Member> all{{"cifar-10-batches-bin/batches.meta.txt", {names.begin(), names.end()}},
                          {"cifar-10-batches-bin/test_batch.bin", records}};
  for (int i = 1; i <= 5; ++i)
    all.push_back({"cifar-10-batches-bin/data_batch_" + std::to_string(i) + ".bin", records});
  const fs::path path = folder.path() / "cifar-10-binary.tar.gz";
  write_archive(path, all);
  CHECK(contains(text_of<DataError>([&] { static_cast<void>(load(path.string())); }), "MD5"));
  const DataPair pair = load(path.string() + ":verify=false");
  CHECK(pair.train.size() == 50'000);
  CHECK(pair.valid.size() == 10'000);
  CHECK(pair.train.name == "cifar10-layout");
  CHECK(find_cifar10({.directory = folder.path()}) == path);
  CHECK(load("cifar10:verify=false", {.directory = folder.path()}).train.fingerprint() ==
        pair.train.fingerprint());
}

TEST_CASE("archive: paths out of it and links are refused") {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "set.tar.gz";
  CHECK(error_of(path, {"train/cat/1.png", image(1)}).empty());
  CHECK(contains(error_of(path, {"../evil.png", image(1)}),
                 "set.tar.gz/../evil.png' points outside"));
  CHECK(contains(error_of(path, {"a/../../evil.png", image(1)}), "points outside"));
  CHECK(contains(error_of(path, {"/etc/evil.png", image(1)}), "points outside"));
  CHECK(
      contains(error_of(path, {"train/cat/2.png", {}, Kind::link}), "train/cat/2.png' is a link"));
  CHECK(contains(error_of(path, {"train/cat/2.png", {}, Kind::hard_link}),
                 "train/cat/2.png' is a link"));
  CHECK(contains(error_of(path, {"train/fox/", {}, Kind::folder}), "fox' has no .jpg"));
  CHECK(contains(error_of(path, {"train/cat/2.png", {'x'}}),
                 "set.tar.gz/train/cat/2.png: it is text, not JPEG, PNG,"));
}

TEST_CASE("archive: damage of every kind is a data error") {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "damaged";
  const std::string html = "<html>404</html>";
  test::write_bytes(path, {html.begin(), html.end()});
  CHECK(contains(error_of(path), "neither a folder nor a readable archive"));
  test::write_bytes(path, {});
  CHECK_FALSE(error_of(path).empty());
  for (const char* name : {"set.tar.gz", "set.tar.xz", "set.zip"}) {
    write_archive(folder.path() / name, members(""));
    const std::vector<std::uint8_t> whole = test::read_bytes(folder.path() / name);
    // In a zip, only the part after the files may be lost.
    const std::size_t needed =
        std::string_view(name) == "set.zip" ? whole.size() / 2 : whole.size();
    for (std::size_t keep = 0; keep < needed; keep += keep + 16 < needed ? 13 : 1) {
      CAPTURE(name);
      CAPTURE(keep);
      test::write_bytes(path, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(keep)});
      CHECK_FALSE(error_of(path).empty());
    }
    for (std::size_t at = 0; at < whole.size(); at += 7) {
      auto flipped = whole;
      flipped[at] ^= 0x20U;
      test::write_bytes(path, flipped);
      static_cast<void>(error_of(path));  // an error or not, but nothing worse
      try {
        for (const ImageFile& file : image_files(path, "x")) CHECK_FALSE(file.name.empty());
      } catch (const DataError&) {  // nothing of it can be read
      }
    }
  }
}

TEST_CASE("archive: no flipped bit of what gzip, bzip2 and xz compressed changes a file") {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "damaged";
  // Some bits mean nothing: those that fill the last byte, for instance.
  const auto contents = [&] {
    std::map<fs::path, std::vector<std::uint8_t>> files;
    const auto tree = open_tree(path);
    for (const std::string& file : tree->files({})) files[file] = tree->read(file);
    return files;
  };
  for (const std::string name : {"set.tar.gz", "set.tar.bz2", "set.tar.xz"}) {
    write_archive(folder.path() / name, members(""));
    std::vector<std::uint8_t> bytes = test::read_bytes(folder.path() / name);
    test::write_bytes(path, bytes);
    const auto expected = contents();
    int refused = 0;
    std::string changed;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      const auto flip = static_cast<std::uint8_t>(1U << (at % 8));
      bytes[at] ^= flip;
      test::write_bytes(path, bytes);
      try {
        if (contents() != expected) changed += std::to_string(at) + " ";
      } catch (const DataError&) {
        ++refused;
      }
      bytes[at] ^= flip;
    }
    CAPTURE(name);
    CHECK(changed == "");
    CHECK(refused > static_cast<int>(bytes.size() * 7 / 8));
  }
}

TEST_CASE("archive: a decompression bomb is refused") {
  const test::TemporaryFolder folder;
  const std::vector<std::uint8_t> zeros(std::size_t{100} << 20U);
  const fs::path path = folder.path() / "bomb.zip";
  write_archive(path, {{"a/1.png", zeros}, {"a/2.png", zeros}, {"a/3.png", zeros}});
  const std::uintmax_t allowed = 256 + 100 * fs::file_size(path) / (1U << 20U);
  REQUIRE(allowed < 300);
  CHECK(contains(text_of<DataError>([&] { static_cast<void>(open_tree(path)); }),
                 "unpacks to more than " + std::to_string(allowed) + " MiB"));
}

TEST_CASE("archive: refused members do not affect others, if problems are collected") {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "set.zip";
  const std::vector<std::uint8_t> zeros(std::size_t{100} << 20U);
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "d/";
  write_archive(path,
                {{"a/1.png", image(1)},
                 {"a/2.png", std::vector<std::uint8_t>(kMaxFileBytes + 1)},
                 {"a/../../3.png", image(3)},
                 {deep + "3.png", image(3)},
                 {"a/4.png", image(4)}});
  std::vector<TreeProblem> problems;
  const auto tree = open_archive(path, problems);
  REQUIRE(problems.size() == 3);
  CHECK(problems[0].of_file);
  CHECK(problems[0].path == "2.png");
  CHECK(problems[0].why == "is larger than 256 MiB");
  CHECK(problems[1].path == "a/../../3.png");
  CHECK(problems[1].why == "points outside the archive");
  CHECK(problems[2].path == deep + "3.png");
  CHECK(problems[2].why == "is more than 100 folders deep");
  CHECK(tree->files({}) == std::vector<std::string>{"1.png", "4.png"});

  write_archive(path,
                {{"a/1.png", image(1)},
                 {"a/2.png", zeros},
                 {"a/3.png", zeros},
                 {"a/4.png", zeros},
                 {"a/5.png", image(5)}});
  problems.clear();
  CHECK(open_archive(path, problems)->files({}).size() == 3);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].path == "4.png");
  CHECK(contains(problems[0].why,
                 "and the files after it are not read: the archive unpacks to more than"));
}

TEST_CASE("archive: a file that is not in it is a data error") {
  const test::TemporaryFolder folder;
  write_archive(folder.path() / "set.tar", {{"a/1.png", {1}}});
  const auto tree = open_tree(folder.path() / "set.tar");
  CHECK(text_of<DataError>([&] { static_cast<void>(tree->read("a/2.png")); }) ==
        "it is not in the archive");
}

TEST_CASE("archive: a file in it that is too large is refused by what its header says") {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "set.tar";
  write_archive(path, {{"a/1.png", {1}}});
  std::vector<std::uint8_t> bytes = test::read_bytes(path);
  const auto put = [&](std::size_t at, std::size_t digits, std::uintmax_t value) {
    const std::string octal = fmt::format("{:0{}o}", value, digits);
    std::copy(octal.begin(), octal.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
  };
  put(124, 11, kMaxFileBytes + 1);
  std::fill_n(bytes.begin() + 148, 8, std::uint8_t{' '});
  put(148, 6, std::accumulate(bytes.begin(), bytes.begin() + 512, 0U));  // tar's checksum
  test::write_bytes(path, bytes);
  CHECK(contains(text_of<DataError>([&] { static_cast<void>(open_tree(path)); }),
                 "a/1.png' is larger than 256 MiB"));
}

TEST_CASE("archive: a file whose checksum is wrong is a data error") {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "set.zip";
  std::vector<std::uint8_t> noise(4096);
  for (std::size_t i = 0; i < noise.size(); ++i)
    noise[i] = static_cast<std::uint8_t>(i * i * 2654435761U >> 13U);
  write_archive(path, {{"a/test_batch.bin", noise}});
  CHECK(open_tree(path)->read("test_batch.bin") == noise);
  std::vector<std::uint8_t> flipped = test::read_bytes(path);
  flipped[flipped.size() / 2] ^= 1U;
  test::write_bytes(path, flipped);
  CHECK(contains(text_of<DataError>([&] { static_cast<void>(open_tree(path)); }), "set.zip"));
}
