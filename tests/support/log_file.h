#pragma once
#include "framework/core/log.h"
#include "tests/support/temporary_folder.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace learn::test {

/// Records what is logged during its lifetime.
class LogFile {
 public:
  LogFile() {
    log::set_file("");  // what was logged before is not of interest
    log::set_file(path().string());
  }
  ~LogFile() { log::set_file(""); }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  [[nodiscard]] std::string text() const {
    log::flush();
    std::ostringstream all;
    all << std::ifstream(path()).rdbuf();
    return all.str();
  }
  /// How often it says `words`.
  [[nodiscard]] std::size_t count(std::string_view words) const {
    const std::string all = text();
    std::size_t found = 0;
    for (std::size_t at = all.find(words); at != std::string::npos; at = all.find(words, at + 1))
      ++found;
    return found;
  }

 private:
  [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "run.log"; }
  TemporaryFolder folder_;
};

}  // namespace learn::test
