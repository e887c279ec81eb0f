#include "framework/core/error.h"

#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>

using namespace learn;

namespace {

constexpr const char* kVariable = "LEARN_ERROR_LOG";

/// Sets the variable, and puts back what it was: the tests themselves may run with it.
class ErrorLog {
 public:
  explicit ErrorLog(const std::string& path) {
    if (const char* value = std::getenv(kVariable)) before_ = value;
    (void)setenv(kVariable, path.c_str(), 1);
  }
  ~ErrorLog() {
    if (before_)
      (void)setenv(kVariable, before_->c_str(), 1);
    else
      (void)unsetenv(kVariable);
  }
  ErrorLog(const ErrorLog&) = delete;
  ErrorLog& operator=(const ErrorLog&) = delete;

 private:
  std::optional<std::string> before_;
};

[[noreturn]] void refuse(int value, SourceLocation at = SourceLocation::current()) {
  fail_from<UsageError>(at, "refused: {}", value);
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("an error contains its values, and a program error also its source position") {
  CHECK_THROWS_WITH_AS(fail<DataError>("{} of {}", 1, "two"), "1 of two", DataError);
  CHECK_THROWS_WITH_AS(refuse(3), "refused: 3", UsageError);
  const std::string place = "error_test.cpp:" + std::to_string(__LINE__ + 1) + ": 4 > 3";
  CHECK_THROWS_WITH_AS(check(false, "{} > {}", 4, 3), place.c_str(), ShapeError);
  CHECK_NOTHROW(check(true, "{}", 1));
  const std::string logic = "error_test.cpp:" + std::to_string(__LINE__ + 1) + ": no";
  CHECK_THROWS_WITH_AS(check<std::logic_error>(false, "no"), logic.c_str(), std::logic_error);
  // Errors that a user can cause have no source position.
  CHECK_THROWS_WITH_AS(check<UsageError>(false, "{} > {}", 4, 3), "4 > 3", UsageError);
  CHECK_THROWS_WITH_AS(check<DataError>(false, "{}", 4), "4", DataError);
  CHECK_THROWS_WITH_AS(check<CheckpointError>(false, "{}", 4), "4", CheckpointError);
  CHECK_THROWS_WITH_AS(check<IoError>(false, "{}", 4), "4", IoError);
  CHECK_THROWS_WITH_AS(check<DivergedError>(false, "{}", 4), "4", DivergedError);
}

TEST_CASE("a NUL in what an error shows does not end its text") {
  const std::string name("a\0b", 3);
  CHECK_THROWS_WITH_AS(fail<DataError>("'{}' is no name", name), "'a\\x00b' is no name", DataError);
  CHECK_THROWS_WITH_AS(check<IoError>(false, "'{}' is no name", name),
                       doctest::Contains("'a\\x00b' is no name"),
                       IoError);
}

TEST_CASE("LEARN_ERROR_LOG names a file that gets the place of each error") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "errors.log";
  const ErrorLog log(path.string());
  check(true, "not raised");
  CHECK_FALSE(std::filesystem::exists(path));
  const int line = __LINE__;
  CHECK_THROWS_AS(fail<IoError>("a"), IoError);
  CHECK_THROWS_AS(check(false, "b"), ShapeError);
  CHECK_THROWS_AS(refuse(1), UsageError);
  std::string wanted;
  for (int i = 1; i <= 3; ++i)
    wanted += fmt::format("{}:{}\n", SourceLocation::current().file, line + i);
  CHECK(content(path) == wanted);
}

TEST_CASE("an error log that cannot be written changes no error") {
  const TemporaryFolder folder;
  const ErrorLog log((folder.path() / "no folder" / "errors.log").string());
  CHECK_THROWS_WITH_AS(fail<IoError>("the error itself"), "the error itself", IoError);
}
