#include "framework/io/append_file.h"

#include "framework/core/error.h"
#include "framework/io/atomic_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cerrno>

using namespace learn;

TEST_CASE("a text that does not reach the disk is not in the file") {
  struct Failing final : FileSystem {
    int sync(int file) override {
      errno = ENOSPC;
      return full ? -1 : FileSystem::sync(file);
    }
    bool full = false;
  } files;
  const TemporaryFolder folder;
  AppendFile file(folder / "log", AppendFile::Open::create, files);
  file.append("one\n");
  files.full = true;
  CHECK_THROWS_WITH_AS(
      file.append("two\n"), doctest::Contains("log': No space left on device"), IoError);
  files.full = false;
  file.append("three\n");
  CHECK(read_text_file(folder / "log") == "one\nthree\n");
}
