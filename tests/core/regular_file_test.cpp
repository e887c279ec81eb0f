#include "framework/core/regular_file.h"

#include "framework/core/error.h"
#include "framework/core/keyed_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>

using namespace learn;

namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("a regular file is read, in part and as a whole, through links too") {
  const TemporaryFolder folder;
  write(folder / "file", "0123456789");
  std::filesystem::create_symlink(folder / "file", folder / "link");
  const RegularFile file(folder / "link");
  CHECK(file.size() == 10);
  CHECK(file.text(10) == "0123456789");
  std::array<char, 3> part{};
  file.read(4, std::as_writable_bytes(std::span(part)));
  CHECK(std::string(part.begin(), part.end()) == "456");
  CHECK_THROWS_WITH_AS(file.read(8, std::as_writable_bytes(std::span(part))),
                       doctest::Contains("became shorter, 10 bytes"),
                       IoError);
  CHECK_THROWS_WITH_AS(
      (void)file.text(9), doctest::Contains("has 10 bytes, more than the 9"), IoError);
}

TEST_CASE(
    "a file that is not regular is refused immediately: a FIFO without a writer, a folder, a "
    "device") {
  const TemporaryFolder folder;
  const std::filesystem::path fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  ::alarm(10);  // a reader that waits is killed
  CHECK_THROWS_WITH_AS(RegularFile{fifo}, doctest::Contains("is not a regular file"), IoError);
  ::alarm(0);
  CHECK_THROWS_WITH_AS(
      RegularFile{folder.path()}, doctest::Contains("is a folder, not a file"), IoError);
  CHECK_THROWS_WITH_AS(
      RegularFile{"/dev/null"}, doctest::Contains("is not a regular file"), IoError);
  CHECK_THROWS_WITH_AS((RegularFile{"/dev/null", "it"}), "it is not a regular file", IoError);
  CHECK_THROWS_WITH_AS(
      RegularFile{folder / "none"}, doctest::Contains("No such file or directory"), IoError);
}

TEST_CASE("a file that the system cannot read says so") {
  const RegularFile memory("/proc/self/mem");  // nothing is mapped at its start
  std::array<std::byte, 1> first{};
  CHECK_THROWS_WITH_AS(
      memory.read(0, first), "cannot read '/proc/self/mem': Input/output error", IoError);
}

TEST_CASE("a cache file is valid only for its key") {
  const TemporaryFolder folder;
  CHECK(read_keyed_file(folder / "none", "key", 100) == std::nullopt);
  write(folder / "file", "key\nvalue\nmore\n");
  CHECK(read_keyed_file(folder / "file", "key", 100) == "value\nmore\n");
  for (const char* other : {"", "ke", "key2", "key\nvalue"})
    CHECK(read_keyed_file(folder / "file", other, 100) == std::nullopt);
  write(folder / "file", "key");  // cut off
  CHECK(read_keyed_file(folder / "file", "key", 100) == std::nullopt);
  CHECK_THROWS_AS((void)read_keyed_file(folder / "file", "key", 2), IoError);
  CHECK_THROWS_AS((void)read_keyed_file(folder.path(), "key", 100), IoError);
}
