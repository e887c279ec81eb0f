#pragma once
#include "framework/core/format.h"

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace learn {

/// Exit code of the command line for an error; each class of errors has its own.
enum class ExitCode : int {
  ok = 0,
  internal = 1,
  usage = 2,
  data = 3,
  checkpoint = 4,
  io = 5,
  out_of_memory = 6,
  diverged = 7,
  device = 8,
  ranks = 9,
};

/// The base of every error `learn` throws: what was wrong, with the values, and what to do.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what, ExitCode code = ExitCode::internal)
      : std::runtime_error(what), code_(code) {}
  [[nodiscard]] ExitCode exit_code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// Defines an error class whose exit code is `code`.
template <ExitCode code, class Tag>
class ErrorOf final : public Error {
 public:
  explicit ErrorOf(const std::string& what) : Error(what, code) {}
};

using ShapeError = ErrorOf<ExitCode::internal, struct ShapeTag>;  ///< extents do not fit
using DTypeError = ErrorOf<ExitCode::internal, struct DTypeTag>;  ///< element types do not fit
using UsageError = ErrorOf<ExitCode::usage, struct UsageTag>;     ///< option, name or configuration
using DataError = ErrorOf<ExitCode::data, struct DataTag>;        ///< data set missing or damaged
using CheckpointError = ErrorOf<ExitCode::checkpoint, struct CheckpointTag>;
using IoError = ErrorOf<ExitCode::io, struct IoTag>;  ///< a file operation failed
using OutOfMemoryError = ErrorOf<ExitCode::out_of_memory, struct OutOfMemoryTag>;
using DivergedError = ErrorOf<ExitCode::diverged, struct DivergedTag>;  ///< loss is not finite
using DeviceError = ErrorOf<ExitCode::device, struct DeviceTag>;  ///< device absent or failing
using RanksError = ErrorOf<ExitCode::ranks, struct RanksTag>;     ///< ranks differ, or one is gone

/// Whether an error is internal: its text then contains the place in the source. Errors that a user
/// can cause, by an option or a file, do not.
template <class E>
inline constexpr bool kShowsPlace = true;
template <ExitCode code, class Tag>
inline constexpr bool kShowsPlace<ErrorOf<code, Tag>> = code == ExitCode::internal;

/// Source position of an error. `std::source_location` is missing in clang 14's library.
struct SourceLocation {
  const char* file;
  unsigned line;
  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};

namespace detail {
/// A format string, checked at compile time, that remembers where it was written.
template <class... Args>
struct LocatedFormat {
  fmt::format_string<Args...> text;
  SourceLocation at;
  template <class S>
  consteval LocatedFormat(const S& s, SourceLocation where = SourceLocation::current())
      : text(s), at(where) {}
};
/// For the tests, which prove with it that each error is raised by one of them: appends "FILE:LINE"
/// to the file that the environment variable LEARN_ERROR_LOG names, if there is one. Every error
/// comes through here.
void note_raised(SourceLocation at) noexcept;
/// The text of an error, without and with its place; a NUL in it is shown as "\x00". Both note it.
[[nodiscard]] std::string unlocated(SourceLocation at,
                                    fmt::string_view text,
                                    fmt::format_args args);
[[nodiscard]] std::string located(SourceLocation at, fmt::string_view text, fmt::format_args args);
}  // namespace detail

/// Throws `E` with the formatted text unless `ok`, and with its place ("conv.cpp:41: ...") if it is
/// a programming error: shapes, dtypes, misuse of an interface. The text contains both values.
template <class E = ShapeError, class... Args>
void check(bool ok, detail::LocatedFormat<std::type_identity_t<Args>...> message, Args&&... args) {
  if (ok) [[likely]]
    return;
  const auto text = kShowsPlace<E> ? &detail::located : &detail::unlocated;
  throw E(text(message.at, message.text, fmt::make_format_args(args...)));
}

/// Throws `E` with the formatted text alone. For errors of the outside world: files, options, data.
template <class E, class... Args>
[[noreturn]] void fail(detail::LocatedFormat<std::type_identity_t<Args>...> message,
                       Args&&... args) {
  throw E(detail::unlocated(message.at, message.text, fmt::make_format_args(args...)));
}

/// `fail` for a helper that several places raise an error with: it takes
/// `SourceLocation at = SourceLocation::current()` and gives it here.
template <class E, class... Args>
[[noreturn]] void fail_from(SourceLocation at, fmt::format_string<Args...> text, Args&&... args) {
  throw E(detail::unlocated(at, text, fmt::make_format_args(args...)));
}

}  // namespace learn
