#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace learn {

/// A character of UTF-8, or a byte that is not part of one.
struct CodePoint {
  static constexpr std::uint32_t kMalformed = 0xFFFFFFFF;
  std::string_view bytes;
  std::uint32_t value = kMalformed;
  [[nodiscard]] bool malformed() const noexcept { return value == kMalformed; }
  /// A control character, a mark that turns the direction of writing, or malformed.
  [[nodiscard]] bool steers() const noexcept;
};

/// The first character of a text that is not empty.
[[nodiscard]] CodePoint first_code_point(std::string_view text);

/// Escapes characters that could control a terminal or hide text: control characters except newline
/// and tab, marks that change the writing direction, and bytes that are not UTF-8 become "\x1b"
/// etc. Names of files and classes come from anywhere.
[[nodiscard]] std::string printable(std::string_view text);
/// Escapes newlines and tabs, too, for a value in a one-line message.
[[nodiscard]] std::string printable_line(std::string_view text);
/// Returns the text in UTF-8: invalid bytes become "\xff" etc., as in `printable`, and the rest is
/// unchanged. For files that must be UTF-8, such as JSON, so that names in them stay distinct.
[[nodiscard]] std::string utf8_text(std::string_view text);
/// Returns whether `utf8_text` would leave the text unchanged.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace learn
