#include "apps/experiment/progress_line.h"

#include "framework/core/console.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

using namespace learn;

namespace {

/// A terminal in the place of standard error, while it lives.
class Terminal {
 public:
  Terminal() {
    REQUIRE(master_ != -1);
    REQUIRE(::grantpt(master_) == 0);
    REQUIRE(::unlockpt(master_) == 0);
    const int slave = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    REQUIRE(slave != -1);
    ::dup2(slave, STDERR_FILENO);
    ::close(slave);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    ::close(master_);
  }

  /// Text written since the last call.
  [[nodiscard]] std::string text() const {
    std::array<char, 4096> buffer{};
    const ssize_t size = ::read(master_, buffer.data(), buffer.size());
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

 private:
  int before_ = ::dup(STDERR_FILENO);
  int master_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
};

}  // namespace

TEST_CASE("a terminal line shows the progress of long reading, and vanishes at its end") {
  const Terminal terminal;
  const data::DataProgress progress = progress_line("reading");
  REQUIRE(progress);
  progress(64, 50000);
  CHECK(terminal.text().empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(1010));
  progress(12800, 50000);
  CHECK(terminal.text() == "\r\x1b[Kreading  12 800 of 50 000 images");
  progress(12864, 50000);  // at once: not drawn again
  CHECK(terminal.text().empty());
  console::say(stderr, "error: no memory");
  CHECK(terminal.text() == "\r\x1b[Kerror: no memory\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(110));
  progress(25600, 50000);
  CHECK(terminal.text() == "\r\x1b[Kreading  25 600 of 50 000 images");
  progress(50000, 50000);
  CHECK(terminal.text() == "\r\x1b[K");
  progress(50000, 50000);  // nothing is there to be wiped
  CHECK(terminal.text().empty());
}

TEST_CASE("without a terminal, the progress of reading is not shown") {
  CHECK((::isatty(STDERR_FILENO) != 0 || !progress_line("reading")));
}
