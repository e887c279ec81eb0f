#include "framework/io/append_file.h"

#include "framework/core/error.h"
#include "framework/io/output_place.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace learn {

AppendFile::AppendFile(std::filesystem::path path, Open how, FileSystem& files)
    : path_(std::move(path)), files_(files) {
  if (how != Open::create) {
    OutputPlace place = open_output(path_);
    path_ = std::move(place.path);
    fd_ = place.stream;
    if (fd_ >= 0) return;
  }
  int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
  if (how == Open::empty) flags |= O_TRUNC;
  if (how == Open::create) flags |= O_EXCL;
  fd_ = ::open(path_.c_str(), flags, 0644);
  if (fd_ < 0) fail<IoError>("cannot create '{}': {}", path_.string(), std::strerror(errno));
}

AppendFile::~AppendFile() { ::close(fd_); }

void AppendFile::take_back(off_t before, const char* what, int error) {
  // EINVAL: a device, which keeps nothing.
  const bool taken_back = before < 0 || ::ftruncate(fd_, before) == 0 || errno == EINVAL;
  fail<IoError>("cannot {} '{}': {}{}",
                what,
                path_.string(),
                std::strerror(error),
                taken_back ? "" : "; a part of the last text remains in it");
}

void AppendFile::append(std::string_view text) {
  const off_t before = ::lseek(fd_, 0, SEEK_END);  // of a pipe or device: none
  while (!text.empty()) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) take_back(before, "write", errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (files_.sync(fd_) != 0 && errno != EINVAL)  // EINVAL: a pipe or device, nothing to sync
    take_back(before, "sync", errno);
}

}  // namespace learn
