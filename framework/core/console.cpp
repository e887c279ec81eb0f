#include "framework/core/console.h"

#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/core/printable.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string>

namespace learn::console {
namespace {

std::atomic<bool> muted{false};
std::atomic<std::FILE*> drawn{nullptr};  // where a line waits to be replaced

/// Returns 0, or the error.
int write(std::FILE* stream, std::string_view text) {
  if (muted) return 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  const bool flushed = std::fflush(stream) == 0;
  const int error = errno;
  if (written && flushed) return 0;
  std::clearerr(stream);  // a full disk may have room later
  return error;
}

void inform(std::FILE* stream, std::string_view text) noexcept {
  static std::atomic<bool> said{false};
  try {
    const int error = write(stream, text);
    if (error != 0 && !said.exchange(true))
      log::to_file(fmt::format("cannot write to file descriptor {}: {}; its output is lost",
                               ::fileno(stream),
                               std::strerror(error)));
  } catch (const std::exception&) {
    // The error cannot be reported anywhere.
  }
}

}  // namespace

void mute(bool on) noexcept { muted = on; }

void say(std::FILE* stream, std::string_view line) noexcept {
  wipe();
  try {
    inform(stream, printable(line) + "\n");
  } catch (const std::exception&) {
    inform(stream, "out of memory\n");
  }
}

void redraw(std::FILE* stream, std::string_view line) noexcept {
  drawn = line.empty() ? nullptr : stream;
  try {
    inform(stream, "\r\x1b[K" + printable(line));
  } catch (const std::exception&) {
    inform(stream, "\r\x1b[K");
  }
}

void wipe() noexcept {
  if (std::FILE* const stream = drawn.exchange(nullptr); stream != nullptr)
    inform(stream, "\r\x1b[K");
}

void print(std::string_view text) {
  const int error = write(stdout, printable(text));
  if (error != 0) fail<IoError>("cannot write to standard output: {}", std::strerror(error));
}

void hold_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // A failure to write to standard output, which is an error, because the result is lost.
    const int opened = ::open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    if (opened != -1 && opened != fd) {
      ::dup2(opened, fd);
      ::close(opened);
    }
  }
}

}  // namespace learn::console
