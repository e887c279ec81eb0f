#include "apps/learn/common/standard_input.h"

#include "data/files/file_tree.h"
#include "data/images/image_codec.h"
#include "framework/core/error.h"

#include <fmt/core.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

namespace learn::cli {

namespace {

constexpr std::uint64_t kMaxArchive = 1ULL << 30U;

/// How much of it may come, by its first bytes and where they are kept.
std::uint64_t limit_of(std::span<const std::uint8_t> start, int file) {
  struct statvfs disk {};
  const std::uint64_t free =
      ::fstatvfs(file, &disk) == 0 ? disk.f_bavail * disk.f_frsize : 2 * kMaxArchive;
  return std::min(free / 2, *data::image_format(start) != '\0' ? data::kMaxFileBytes : kMaxArchive);
}

}  // namespace

StandardInput::StandardInput() : file_(nullptr) {
  if (::isatty(STDIN_FILENO) == 1)
    fail<UsageError>(
        "'-' is standard input, which is a terminal here: redirect an image or an archive to it, "
        "as in 'learn predict RUN - < cat.jpg'");
  file_ = std::tmpfile();
  if (file_ == nullptr) fail<IoError>("cannot create a temporary file: {}", std::strerror(errno));
}

std::filesystem::path StandardInput::spooled() {
  std::array<std::uint8_t, 1 << 16> block{};
  std::uint64_t total = 0;
  std::uint64_t limit = 0;
  for (;;) {
    const ssize_t n = ::read(STDIN_FILENO, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail<IoError>("cannot read standard input: {}", std::strerror(errno));
    if (n == 0) break;
    const auto bytes = static_cast<std::size_t>(n);
    if (total == 0) limit = limit_of(std::span(block).first(bytes), ::fileno(file_));
    total += bytes;
    if (total > limit)
      fail<DataError>(
          "more than {} MiB, the limit for standard input (an image may have {} MiB, an archive {} "
          "MiB or half of the free disk space): save it to a file and name the file",
          limit >> 20U,
          data::kMaxFileBytes >> 20U,
          kMaxArchive >> 20U);
    if (std::fwrite(block.data(), 1, bytes, file_) != bytes)
      fail<IoError>("standard input cannot be kept in a temporary file: {}", std::strerror(errno));
  }
  if (std::fflush(file_) != 0)
    fail<IoError>("standard input cannot be kept in a temporary file: {}", std::strerror(errno));
  return fmt::format("/dev/fd/{}", ::fileno(file_));
}

StandardInput::~StandardInput() {
  if (file_ != nullptr) std::fclose(file_);
}

}  // namespace learn::cli
