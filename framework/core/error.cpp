#include "framework/core/error.h"

#include "framework/core/environment.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <string_view>

namespace learn {

void detail::note_raised(SourceLocation at) noexcept {
  const char* const log = environment("LEARN_ERROR_LOG");
  if (log == nullptr) return;
  // One short write at the end of the file: processes do not mix their lines, and what is noted
  // outlives a process that is killed next.
  const int file = ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  try {
    const std::string line = fmt::format("{}:{}\n", at.file, at.line);
    [[maybe_unused]] const ssize_t written = ::write(file, line.data(), line.size());
  } catch (const std::exception&) {  // there is no memory, which may be the error that is raised
  }
  ::close(file);
}

namespace {

/// The text of an exception ends at a NUL, as in C, so a NUL is made visible.
std::string message(fmt::string_view format, fmt::format_args args) {
  std::string text = fmt::vformat(format, args);
  for (std::size_t at = 0; (at = text.find('\0', at)) != std::string::npos;)
    text.replace(at, 1, "\\x00");
  return text;
}

}  // namespace

std::string detail::unlocated(SourceLocation at, fmt::string_view text, fmt::format_args args) {
  note_raised(at);
  return message(text, args);
}

std::string detail::located(SourceLocation at, fmt::string_view text, fmt::format_args args) {
  note_raised(at);
  std::string_view file(at.file);
  if (const auto slash = file.rfind('/'); slash != std::string_view::npos)
    file.remove_prefix(slash + 1);
  return fmt::format("{}:{}: {}", file, at.line, message(text, args));
}

std::string join(std::span<const std::string> words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (&word != words.data()) text += between;
    text += word;
  }
  return text;
}

std::string join_or(std::span<const std::string> words) {
  if (words.size() < 2) return join(words);
  return fmt::format("{} or {}", join(words.first(words.size() - 1)), words.back());
}

std::string join_some(std::span<const std::string> words, std::size_t most) {
  if (words.size() <= most) return join(words);
  return fmt::format("{} and {} more", join(words.first(most)), words.size() - most);
}

std::string percent(double share) {
  return share < 0.1 ? fmt::format("{:.2g} %", 100 * share) : fmt::format("{:.0f} %", 100 * share);
}

std::string join(std::span<const std::int64_t> numbers, std::string_view between) {
  std::string text;
  for (const std::int64_t& number : numbers) {
    if (&number != numbers.data()) text += between;
    text += std::to_string(number);
  }
  return text;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string to_string(const Shape& shape) {
  return "(" + join(std::span(shape.begin(), shape.end())) + ")";
}

std::string to_string(Device device) {
  return device.is_cpu() ? "cpu" : "cuda:" + std::to_string(device.index);
}

}  // namespace learn

namespace {

/// Not fmt::format_to: in fmt 9 compiled by g++ (Debian 12), clang does not find what that calls.
fmt::format_context::iterator put(std::string_view text, fmt::format_context& ctx) {
  return std::copy(text.begin(), text.end(), ctx.out());
}

}  // namespace

auto fmt::formatter<learn::Shape>::format(const learn::Shape& shape, format_context& ctx) const
    -> format_context::iterator {
  return put(learn::to_string(shape), ctx);
}

auto fmt::formatter<learn::DType>::format(const learn::DType& dtype, format_context& ctx) const
    -> format_context::iterator {
  return put(learn::name_of(dtype), ctx);
}

auto fmt::formatter<learn::Device>::format(const learn::Device& device, format_context& ctx) const
    -> format_context::iterator {
  return put(learn::to_string(device), ctx);
}
