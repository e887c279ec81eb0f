#include "framework/io/atomic_file.h"

#include "framework/core/error.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

namespace learn {
namespace {

[[noreturn]] void fail_io(const char* doing, const std::filesystem::path& path, int error) {
  fail<IoError>("cannot {} '{}': {}", doing, path.string(), std::strerror(error));
}

void sync_directory_of(const std::filesystem::path& path) {
  const std::filesystem::path parent = path.parent_path();
  const int fd = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail_io("open the directory of", path, errno);
  const int result = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  // Some file systems cannot sync a directory and say EINVAL; there is nothing better to do there.
  if (result != 0 && error != EINVAL) fail_io("sync the directory of", path, error);
}

/// Gives the present content of `target` a second name, replacing what has that name, without a
/// moment in which `target` is missing.
void keep_as(const std::filesystem::path& target, const std::filesystem::path& previous) {
  const std::filesystem::path staging = previous.string() + ".tmp";
  ::unlink(staging.c_str());
  if (::link(target.c_str(), staging.c_str()) != 0) {
    if (errno == ENOENT) return;  // the first time there is nothing to keep
    fail_io("keep the previous", target, errno);
  }
  if (::rename(staging.c_str(), previous.c_str()) != 0) fail_io("keep the previous", target, errno);
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path target) : target_(std::move(target)) {
  temporary_ = target_.string() + ".tmp." + std::to_string(::getpid());
  ::unlink(temporary_.c_str());  // left by a killed process that had our number
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd_ < 0) fail_io("create", temporary_, errno);
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      fail_io("write", temporary_, errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit(const std::filesystem::path& previous) {
  if (::fsync(fd_) != 0) fail_io("sync", temporary_, errno);
  const int closed = ::close(std::exchange(fd_, -1));
  if (closed != 0) fail_io("close", temporary_, errno);
  if (!previous.empty()) keep_as(target_, previous);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_io("replace", target_, errno);
  temporary_.clear();
  sync_directory_of(target_);
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

std::string read_text_file(const std::filesystem::path& path, std::size_t limit) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail_io("open", path, errno);
  std::string text(limit + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) fail_io("read", path, errno);
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > limit) fail<IoError>("'{}' is larger than {} bytes", path.string(), limit);
  return text;
}

}  // namespace learn
