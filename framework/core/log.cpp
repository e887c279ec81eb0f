#include "framework/core/log.h"

#include "framework/core/console.h"
#include "framework/core/environment.h"
#include "framework/core/error.h"
#include "framework/core/printable.h"

#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace learn::log {
namespace {

spdlog::level::level_enum translate(Level level) {
  switch (level) {
    case Level::trace:
      return spdlog::level::trace;
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
    case Level::off:
      break;
  }
  return spdlog::level::off;
}

/// Appends to a regular file, never through a symbolic link, which may lead out of the folder.
/// Messages that cannot be written are dropped, so that a training does not end because the disk of
/// its log is full.
class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FileSink(const std::string& path)
      : fd_(::open(path.c_str(),
                   O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                   0644)) {
    if (fd_ < 0)
      fail<IoError>("cannot open the log file '{}': {}",
                    path,
                    errno == ELOOP ? "it is a symbolic link" : std::strerror(errno));
    struct stat info {};
    if (::fstat(fd_, &info) == 0 && S_ISREG(info.st_mode)) return;
    ::close(fd_);
    fail<IoError>("cannot open the log file '{}': it is not a regular file", path);
  }
  ~FileSink() override { ::close(fd_); }
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const ssize_t dropped = ::write(fd_, line.data(), line.size());
    (void)dropped;
  }
  void flush_() override {}

 private:
  int fd_;
};

spdlog::color_mode wanted_colors() {
  return environment("NO_COLOR") != nullptr ? spdlog::color_mode::never  // https://no-color.org
                                            : spdlog::color_mode::automatic;
}

/// A bar that is drawn on the terminal makes room.
class TerminalSink final : public spdlog::sinks::stderr_color_sink_mt {
 public:
  TerminalSink() : spdlog::sinks::stderr_color_sink_mt(wanted_colors()) {}
  void log(const spdlog::details::log_msg& message) override {
    console::wipe();
    spdlog::sinks::stderr_color_sink_mt::log(message);
  }
};

/// Messages from before the file exists, mostly about reading the data.
using EarlySink = spdlog::sinks::ringbuffer_sink_mt;
constexpr std::size_t kEarlyMessages = 1000;

std::shared_ptr<spdlog::logger>& instance() {
  static std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>(
        "learn",
        spdlog::sinks_init_list{std::make_shared<TerminalSink>(),
                                std::make_shared<EarlySink>(kEarlyMessages)});
    made->set_pattern("%^%l%$ %v");
    made->flush_on(spdlog::level::warn);
    return made;
  }();
  return logger;
}

spdlog::logger& logger() { return *instance(); }

}  // namespace

void set_level(Level level) { logger().set_level(translate(level)); }

void set_terminal_level(Level level) { logger().sinks().front()->set_level(translate(level)); }

void set_file(const std::string& path) {
  auto& sinks = logger().sinks();
  if (path.empty()) {
    if (sinks.size() > 1) sinks.pop_back();
    return;
  }
  auto sink = std::make_shared<FileSink>(path);
  sink->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
  if (sinks.size() > 1) {
    if (const auto early = std::dynamic_pointer_cast<EarlySink>(sinks.back()))
      for (const auto& message : early->last_raw()) sink->log(message);
    sinks.pop_back();
  }
  sinks.push_back(std::move(sink));
}

void flush() noexcept {
  try {
    logger().flush();
  } catch (const std::exception&) {
    // It could not be made: there was no memory even for that, and nothing is in it.
    return;
  }
}

void message(Level level, std::string_view text) {
  const std::string shown = printable(text);
  logger().log(translate(level), spdlog::string_view_t(shown.data(), shown.size()));
}

void to_file(std::string_view text) {
  auto& sinks = logger().sinks();
  if (sinks.size() < 2) return;
  const std::string shown = printable(text);
  sinks.back()->log(
      {logger().name(), spdlog::level::info, spdlog::string_view_t(shown.data(), shown.size())});
}

bool enabled(Level level) { return logger().should_log(translate(level)); }

std::shared_ptr<void> share() { return instance(); }

void adopt(const std::shared_ptr<void>& shared) {
  instance() = std::static_pointer_cast<spdlog::logger>(shared);
}

}  // namespace learn::log

namespace learn {

bool first_time(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  const std::lock_guard lock(mutex);
  return seen.insert(text).second;
}

}  // namespace learn
