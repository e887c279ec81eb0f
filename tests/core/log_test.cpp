#include "framework/core/log.h"

#include "framework/core/error.h"
#include "tests/support/log_file.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

using namespace learn;
namespace fs = std::filesystem;

TEST_CASE("log: messages are appended to the file, with a time") {
  const TemporaryFolder folder;
  const fs::path path = folder / "run.log";
  std::ofstream(path) << "before\n";
  log::set_file("");  // drops what other tests have logged
  log::set_file(path.string());
  log::info("[test] {}", 1);
  log::to_file("a table");
  log::set_file("");
  log::info("[test] not there");
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  CHECK(line == "before");
  std::getline(in, line);
  CHECK(line.ends_with(" info [test] 1"));
  CHECK(line.size() == std::string("2026-11-20T12:05:17.123 info [test] 1").size());
  std::getline(in, line);
  CHECK(line.ends_with(" info a table"));
  CHECK_FALSE(std::getline(in, line));
}

TEST_CASE("log: a link or a special file is refused") {
  const TemporaryFolder folder;
  std::ofstream(folder / "elsewhere") << "precious";
  fs::create_symlink("elsewhere", folder / "link");
  CHECK_THROWS_WITH_AS(log::set_file((folder / "link").string()),
                       doctest::Contains("it is a symbolic link"),
                       IoError);
  CHECK(fs::file_size(folder / "elsewhere") == 8);
  fs::create_directory(folder / "folder");
  CHECK_THROWS_AS(log::set_file((folder / "folder").string()), IoError);
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK_THROWS_AS(log::set_file((folder / "fifo").string()), IoError);  // without a reader
  CHECK_THROWS_WITH_AS(log::set_file("/dev/null"),
                       "cannot open the log file '/dev/null': it is not a regular file",
                       IoError);
}

TEST_CASE("log: messages that cannot be written are dropped") {
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const test::LogFile file;
  log::to_file("first");
  struct rlimit none = before;
  none.rlim_cur = 1;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
  log::to_file("second");
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  log::to_file("third");
  CHECK(file.count("first") == 1);
  CHECK(file.count("second") == 0);
  CHECK(file.count("third") == 1);
}
