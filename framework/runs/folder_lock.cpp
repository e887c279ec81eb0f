#include "framework/runs/folder_lock.h"

#include "framework/core/error.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace learn {
namespace {

int open_folder(const std::filesystem::path& folder) {
  return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder) : fd_(open_folder(folder)) {
  // `is_held` has it for a moment; a process that works there has it for long.
  constexpr int kTries = 100;
  constexpr std::chrono::milliseconds kPause(5);
  if (fd_ < 0) return;
  for (int i = 0; i < kTries; ++i) {
    if (::flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    std::this_thread::sleep_for(kPause);
  }
  ::close(fd_);
  fail<UsageError>("another process is training in '{}'", folder.string());
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

Held is_held(const std::filesystem::path& folder, FileSystem& files) {
  const int fd = open_folder(folder);
  if (fd < 0) return Held::unknown;
  const bool taken = ::flock(fd, LOCK_SH | LOCK_NB) == 0;
  const int error = errno;
  ::close(fd);
  if (taken) return files.sees_all_locks(folder) ? Held::no : Held::unknown;
  return error == EWOULDBLOCK ? Held::yes : Held::unknown;
}

}  // namespace learn
