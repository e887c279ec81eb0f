#pragma once
#include "framework/io/file_system.h"

#include <cstdint>
#include <filesystem>

namespace learn {

/// A lock that is held while a process uses a folder, and released when the process ends, in any
/// way.
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
  /// The file system does not support locks, or is shared with other machines, whose locks are not
  /// visible here; or the folder cannot be opened.
  unknown,
};
/// Whether a process uses a folder. Does not disturb a process that takes the lock at the same
/// time.
[[nodiscard]] Held is_held(const std::filesystem::path& folder, FileSystem& files = disk());

}  // namespace learn
