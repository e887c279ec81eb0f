#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace learn {

/// A regular file that is open for reading, under a name from a user. Opening never waits, as it
/// would for a FIFO: anything except a regular file is refused.
class RegularFile {
 public:
  /// Follows links. Throws IoError.
  explicit RegularFile(std::filesystem::path path);
  /// For callers that name the file themselves: errors call it `called`, for example "it".
  RegularFile(std::filesystem::path path, std::string called);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  /// Its bytes when it was opened.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// For libraries that read the file themselves. It stays open during the lifetime of this object.
  [[nodiscard]] int descriptor() const noexcept { return fd_; }
  /// Fills `into` with the bytes from `at` on. Threads may read at the same time. Throws IoError,
  /// also if the file ends before.
  void read(std::uint64_t at, std::span<std::byte> into) const;
  /// The whole of it. Throws IoError, also if it is larger than `limit` bytes.
  [[nodiscard]] std::string text(std::uint64_t limit) const;

 private:
  std::filesystem::path path_;
  std::string called_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace learn
