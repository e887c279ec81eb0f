#pragma once
#include <fmt/core.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

/// Logging. Messages start with a subsystem tag, "[data] ...". Nothing is logged inside a step.
/// `warn` means that the user should act. Only log.cpp uses the logging library.
namespace learn::log {

enum class Level { trace, debug, info, warn, error, off };

/// Messages below `level` are dropped. Default: info.
void set_level(Level level);
/// Messages below `level` are not shown on the terminal, but still written to the file.
void set_terminal_level(Level level);
/// Also writes every message, with time stamps, to `path`, until called again; empty: to no file.
/// The first file starts with up to 1000 earlier messages. Throws IoError if the file cannot be
/// opened, or is a symbolic link or not a regular file. Messages that cannot be written later are
/// dropped.
void set_file(const std::string& path);
/// Writes everything buffered so far.
void flush() noexcept;
void message(Level level, std::string_view text);
/// Writes a line only to the file of `set_file`, at every level; does nothing without a file. For
/// text that the terminal shows in another form, such as a table.
void to_file(std::string_view text);
[[nodiscard]] bool enabled(Level level);

/// This log, for a shared library that holds a copy of this code: what `adopt` gets there from
/// then on is one and the same.
[[nodiscard]] std::shared_ptr<void> share();
void adopt(const std::shared_ptr<void>& shared);

template <class... Args>
void debug(fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::debug))
    message(Level::debug, fmt::vformat(text, fmt::make_format_args(args...)));
}
template <class... Args>
void info(fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::info))
    message(Level::info, fmt::vformat(text, fmt::make_format_args(args...)));
}
template <class... Args>
void warn(fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::warn))
    message(Level::warn, fmt::vformat(text, fmt::make_format_args(args...)));
}
template <class... Args>
void error(fmt::format_string<Args...> text, Args&&... args) {
  if (enabled(Level::error))
    message(Level::error, fmt::vformat(text, fmt::make_format_args(args...)));
}

}  // namespace learn::log

namespace learn {

/// True at the first call of this process with that text: for what is logged once, however often it
/// happens.
[[nodiscard]] bool first_time(const std::string& text);

}  // namespace learn
