#include "framework/io/atomic_file.h"

#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/core/regular_file.h"
#include "framework/io/free_space.h"
#include "framework/io/output_place.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace learn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporary = ".tmp.";

/// Errors of a file system without support for hard links, or at its limit of them.
bool means_no_links(int error) {
  constexpr std::array kErrors{EPERM, EOPNOTSUPP, ENOSYS, EMLINK, EXDEV};
  return std::find(kErrors.begin(), kErrors.end(), error) != kErrors.end();
}

/// At the first of many saves only.
void warn_of_no_links(const fs::path& target, const fs::path& previous, int error) {
  if (!first_time("no hard links: " + target.string())) return;
  log::warn(
      "[io] this file system does not support hard links ({}): '{}' is kept without its previous "
      "version, '{}'",
      std::strerror(error),
      target.string(),
      previous.filename().string());
}

/// Sizes to report if the error is a lack of space.
std::string about_space(int error, std::uint64_t needed, std::optional<std::uint64_t> free) {
  if (error == EFBIG) {
    struct rlimit limit {};
    const bool limited = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return fmt::format(
        ": need {}{}",
        bytes_text(needed),
        limited ? ", the limit of this process (ulimit -f) is " + bytes_text(limit.rlim_cur) : "");
  }
  if (error == EDQUOT) return ": need " + bytes_text(needed);
  if (error != ENOSPC) return "";
  if (!free) return ": disk full: need " + bytes_text(needed);
  return fmt::format(": disk full: need {}, have {}{}",
                     bytes_text(needed),
                     bytes_text(*free),
                     *free >= needed ? ", so a quota or the number of files is exhausted" : "");
}

}  // namespace

fs::path temporary_beside(const fs::path& target) {
  return target.string() + std::string(kTemporary) + std::to_string(::getpid());
}

bool AtomicFile::is_temporary(std::string_view file_name) {
  const std::size_t at = file_name.rfind(kTemporary);
  if (at == std::string_view::npos || at == 0) return false;
  const std::string_view number = file_name.substr(at + kTemporary.size());
  return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
}

AtomicFile::AtomicFile(const fs::path& target, std::uint64_t size, FileSystem& files)
    : files_(files), size_(size) {
  OutputPlace place = open_output(target);
  target_ = std::move(place.path);
  fd_ = place.stream;
  if (fd_ >= 0) return;
  temporary_ = temporary_beside(target_);
  files_.unlink(temporary_);  // left by a killed process that had our number
  fd_ = files_.create(temporary_);
  if (fd_ >= 0) return;
  const int error = errno;
  check_output(target);
  errno = error;
  fail_to("create");
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
  if (fd_ >= 0) files_.close(std::exchange(fd_, -1));
  if (!temporary_.empty()) files_.unlink(temporary_);
  temporary_.clear();
}

/// The temporary file is removed first, so that its space counts as free.
void AtomicFile::fail_to(const char* what, SourceLocation at) {
  const int error = errno;
  const std::string written_to = (temporary_.empty() ? target_ : temporary_).string();
  discard();
  fail_from<IoError>(
      at,
      "cannot {} '{}': {}{}",
      what,
      written_to,
      std::strerror(error),
      about_space(error, std::max(size_, written_), files_.free_space(target_.parent_path())));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  written_ += bytes.size();
  while (!bytes.empty()) {
    const ssize_t written = files_.write(fd_, bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      fail_to("write");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit(const fs::path& previous) {
  const bool is_stream = temporary_.empty();
  while (files_.sync(fd_) != 0) {
    if (is_stream && errno == EINVAL) break;  // nothing to sync
    if (errno != EINTR) fail_to("sync");
  }
  if (files_.close(std::exchange(fd_, -1)) != 0) fail_to("close");
  if (is_stream) return;
  if (!previous.empty()) keep_as(previous);
  if (files_.rename(temporary_, target_) != 0) fail_to("put in place");
  temporary_.clear();
  if (files_.sync_folder(target_.parent_path()) != 0)
    fail<IoError>("cannot sync the folder of '{}': {}", target_.string(), std::strerror(errno));
}

/// Gives the present content a second name, replacing what has that name, without a moment in which
/// the target is missing.
void AtomicFile::keep_as(const fs::path& previous) {
  const fs::path staging = temporary_beside(previous);
  files_.unlink(staging);
  if (files_.link(target_, staging) != 0) {
    if (errno == ENOENT) return;  // the first time there is nothing to keep
    if (!means_no_links(errno)) fail_to("keep what is there before");
    return warn_of_no_links(target_, previous, errno);
  }
  const bool kept = files_.rename(staging, previous) == 0;
  const int error = errno;
  // It still exists if that failed, and if the two were already names of one file, as after an
  // interrupted save.
  files_.unlink(staging);
  errno = error;
  if (!kept) fail_to("keep what is there before");
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  AtomicFile file(path, text.size());
  file.write(text);
  file.commit();
}

std::string read_text_file(const fs::path& path, std::size_t limit) {
  return RegularFile(path).text(limit);
}

}  // namespace learn
