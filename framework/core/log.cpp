#include "framework/core/log.h"

#include "framework/core/error.h"
#include "framework/core/printable.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <memory>
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

std::shared_ptr<spdlog::logger>& instance() {
  static std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>(
        "learn", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%^%l%$ %v");
    made->flush_on(spdlog::level::warn);
    return made;
  }();
  return logger;
}

spdlog::logger& logger() { return *instance(); }

}  // namespace

void set_level(Level level) { logger().set_level(translate(level)); }

void set_file(const std::string& path) {
  auto& sinks = logger().sinks();
  if (sinks.size() > 1) sinks.pop_back();
  if (path.empty()) return;
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
    sink->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
    sinks.push_back(std::move(sink));
  } catch (const spdlog::spdlog_ex& e) {
    fail<IoError>("cannot open the log file '{}': {}", path, e.what());
  }
}

void flush() { logger().flush(); }

void message(Level level, std::string_view text) {
  const std::string shown = printable(text);
  logger().log(translate(level), spdlog::string_view_t(shown.data(), shown.size()));
}

void to_file(std::string_view text) {
  auto& sinks = logger().sinks();
  if (sinks.size() < 2) return;
  const std::string shown = printable(text);
  try {
    sinks.back()->log(
        {logger().name(), spdlog::level::info, spdlog::string_view_t(shown.data(), shown.size())});
  } catch (const spdlog::spdlog_ex& e) {
    // What only informs must not end a training: a full disk does not.
    std::fprintf(stderr, "the log file cannot be written: %s\n", e.what());
  }
}

bool enabled(Level level) { return logger().should_log(translate(level)); }

std::shared_ptr<void> share() { return instance(); }

void adopt(const std::shared_ptr<void>& shared) {
  instance() = std::static_pointer_cast<spdlog::logger>(shared);
}

}  // namespace learn::log
