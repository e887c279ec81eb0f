#include "framework/io/file_system.h"

#include "framework/core/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace learn {

FileSystem::~FileSystem() = default;

int FileSystem::create(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
}

ssize_t FileSystem::write(int file, std::span<const std::byte> bytes) {
  return ::write(file, bytes.data(), bytes.size());
}

int FileSystem::sync(int file) { return ::fsync(file); }

int FileSystem::close(int file) { return ::close(file); }

int FileSystem::link(const std::filesystem::path& from, const std::filesystem::path& to) {
  return ::link(from.c_str(), to.c_str());
}

int FileSystem::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  return ::rename(from.c_str(), to.c_str());
}

int FileSystem::unlink(const std::filesystem::path& path) { return ::unlink(path.c_str()); }

int FileSystem::make_folder(const std::filesystem::path& path) {
  return ::mkdir(path.c_str(), 0777);
}

int FileSystem::sync_folder(const std::filesystem::path& path) {
  const int folder = ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -1;
  const int result = ::fsync(folder);
  const int error = errno;
  ::close(folder);
  // Some file systems cannot sync a folder and return EINVAL, which is ignored.
  if (result == 0 || error == EINVAL) return 0;
  errno = error;
  return -1;
}

std::optional<std::uint64_t> FileSystem::free_space(const std::filesystem::path& folder) {
  struct statvfs info {};
  // File systems without block counts, such as some in memory or on a network, do not report it.
  if (::statvfs(folder.empty() ? "." : folder.c_str(), &info) != 0 || info.f_blocks == 0)
    return std::nullopt;
  return std::uint64_t{info.f_bavail} * info.f_frsize;
}

bool FileSystem::sees_all_locks(const std::filesystem::path& folder) {
  // From statfs(2) and the sources of the file systems: NFS, SMB (three kinds), AFS, Ceph, Lustre,
  // GPFS, BeeGFS. NFS, for one, grants the lock of a folder without asking the server.
  constexpr std::array<std::uint32_t, 9> kShared{0x6969,
                                                 0x517B,
                                                 0xFF534D42,
                                                 0xFE534D42,
                                                 0x5346414F,
                                                 0x00C36400,
                                                 0x0BD00BD0,
                                                 0x47504653,
                                                 0x19830326};
  struct statfs info {};
  if (::statfs(folder.empty() ? "." : folder.c_str(), &info) != 0) return false;
  return std::ranges::find(kShared, static_cast<std::uint32_t>(info.f_type)) == kShared.end();
}

FileSystem& disk() {
  static FileSystem the_disk;
  return the_disk;
}

namespace {

[[noreturn]] void fail_to_make(const std::filesystem::path& path,
                               SourceLocation at = SourceLocation::current()) {
  fail_from<IoError>(at, "cannot make '{}': {}", path.string(), std::strerror(errno));
}

}  // namespace

bool make_folder(const std::filesystem::path& path, FileSystem& files) {
  if (files.make_folder(path) != 0) {
    if (errno == EEXIST) return false;
    fail_to_make(path);
  }
  if (files.sync_folder(path.parent_path()) != 0) fail_to_make(path);
  return true;
}

void make_folders(const std::filesystem::path& path, FileSystem& files) {
  const std::filesystem::path above = path.parent_path();
  if (above == path) return;                                    // "/", or nothing
  if (!path.has_filename()) return make_folders(above, files);  // "runs/"
  if (files.make_folder(path) == 0) {
    if (files.sync_folder(above) != 0) fail_to_make(path);
  } else if (errno == ENOENT) {
    make_folders(above, files);
    (void)make_folder(path, files);
  } else if (errno != EEXIST) {
    fail_to_make(path);
  }
}

}  // namespace learn
