#pragma once
#include "framework/io/file_system.h"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace learn {

/// A file that grows. Appended text is on the disk when `append` returns, so that a killed program
/// leaves all of it.
class AppendFile {
 public:
  enum class Open : std::uint8_t {
    empty,   ///< existing content is removed
    keep,    ///< after existing content
    create,  ///< the file must not exist
  };
  /// Creates the file if it does not exist. Follows links, and writes to devices and FIFOs, as
  /// `open_output` says; `create` does neither. Throws IoError.
  AppendFile(std::filesystem::path path, Open how, FileSystem& files = disk());
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Throws IoError if it cannot be written, or is not on the disk then; of that text nothing
  /// stays.
  void append(std::string_view text);

 private:
  /// Throws after removing everything after `before`.
  [[noreturn]] void take_back(off_t before, const char* what, int error);

  std::filesystem::path path_;
  FileSystem& files_;
  int fd_ = -1;
};

}  // namespace learn
