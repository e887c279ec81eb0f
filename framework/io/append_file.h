#pragma once
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace learn {

/// A file that grows. What was appended is on the disk when `append` returns, so that a killed
/// program leaves all of it.
class AppendFile {
 public:
  enum class Open : std::uint8_t {
    empty,   ///< what is there is gone
    keep,    ///< behind what is there
    create,  ///< there must be none
  };
  /// Creates the file if there is none. Follows no symbolic link. Throws IoError.
  AppendFile(std::filesystem::path path, Open how);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Throws IoError if it cannot be written; of a text that cannot be written whole nothing stays.
  void append(std::string_view text);

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace learn
