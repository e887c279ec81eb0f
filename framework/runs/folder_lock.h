#pragma once
#include "framework/io/file_system.h"

#include <cstdint>
#include <filesystem>

namespace learn {

/// Held as long as a process works in a folder; gone with the process, however that ends.
class FolderLock {
 public:
  /// Throws UsageError if another process of this machine has it. If the file system does not
  /// support locks, or the folder cannot be opened, no lock is taken.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

/// State of a folder's lock.
enum class Held : std::uint8_t {
  no,
  yes,
  /// The file system knows no locks, or other machines share it, whose locks are not seen here; or
  /// the folder cannot be opened.
  unknown,
};
/// Whether a process works in a folder. Who takes the lock at the same moment is not disturbed.
[[nodiscard]] Held is_held(const std::filesystem::path& folder, FileSystem& files = disk());

}  // namespace learn
