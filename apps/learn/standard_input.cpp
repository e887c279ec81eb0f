#include "apps/learn/standard_input.h"

#include "framework/core/error.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace learn::cli {

StandardInput::StandardInput(std::uint64_t limit) : file_(nullptr) {
  if (::isatty(STDIN_FILENO) == 1)
    fail<UsageError>(
        "'-' is standard input, which is a terminal here: send an image or an archive "
        "through it, as in 'learn predict RUN - < cat.jpg'");
  file_ = std::tmpfile();
  if (file_ == nullptr) fail<IoError>("no temporary file can be made: {}", std::strerror(errno));
  std::array<char, 1 << 16> block{};
  std::uint64_t total = 0;
  for (;;) {
    const ssize_t n = ::read(STDIN_FILENO, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail<IoError>("standard input cannot be read: {}", std::strerror(errno));
    if (n == 0) break;
    total += static_cast<std::uint64_t>(n);
    if (total > limit) fail<IoError>("standard input has more than {} bytes", limit);
    if (std::fwrite(block.data(), 1, static_cast<std::size_t>(n), file_) !=
        static_cast<std::size_t>(n))
      fail<IoError>("standard input cannot be kept in a temporary file: {}", std::strerror(errno));
  }
  if (std::fflush(file_) != 0)
    fail<IoError>("standard input cannot be kept in a temporary file: {}", std::strerror(errno));
}

StandardInput::~StandardInput() {
  if (file_ != nullptr) std::fclose(file_);
}

std::filesystem::path StandardInput::path() const {
  return fmt::format("/dev/fd/{}", ::fileno(file_));
}

}  // namespace learn::cli
