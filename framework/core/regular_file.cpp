#include "framework/core/regular_file.h"

#include "framework/core/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace learn {

RegularFile::RegularFile(std::filesystem::path path)
    : RegularFile(path, "'" + path.string() + "'") {}

RegularFile::RegularFile(std::filesystem::path path, std::string called)
    : path_(std::move(path)), called_(std::move(called)) {
  // Without O_NONBLOCK, opening a FIFO waits until a process writes to it.
  fd_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd_ < 0) fail<IoError>("cannot open {}: {}", called_, std::strerror(errno));
  struct stat info {};
  const bool known = ::fstat(fd_, &info) == 0;
  if (!known || !S_ISREG(info.st_mode)) {
    ::close(fd_);
    fail<IoError>("{} is {}",
                  called_,
                  known && S_ISDIR(info.st_mode) ? "a folder, not a file" : "not a regular file");
  }
  size_ = static_cast<std::uint64_t>(info.st_size);
}

RegularFile::~RegularFile() { ::close(fd_); }

void RegularFile::read(std::uint64_t at, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd_, into.data(), into.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail<IoError>("cannot read {}: {}", called_, std::strerror(errno));
    if (got == 0) fail<IoError>("{} became shorter, {} bytes, while being read", called_, at);
    at += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
}

std::string RegularFile::text(std::uint64_t limit) const {
  if (size_ > limit)
    fail<IoError>("{} has {} bytes, more than the {} that are read", called_, size_, limit);
  std::string text(size_, '\0');
  read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace learn
