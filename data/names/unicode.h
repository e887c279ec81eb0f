#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace learn::data {

/// The text of a file that a person or a spreadsheet wrote, as UTF-8: without its byte order mark,
/// UTF-16 with a mark is converted. Throws DataError, which does not name the file, for damaged
/// UTF-16 and for zero bytes, which no text in UTF-8 holds.
[[nodiscard]] std::string decoded_text(const std::vector<std::uint8_t>& bytes);

/// Without blanks at both ends, those of Unicode among them: no-break spaces, ideographic spaces,
/// spaces of no width, byte order marks. A text that is not UTF-8 loses those of ASCII.
[[nodiscard]] std::string trimmed(std::string_view text);

/// A key that is equal for all texts that look alike: those that differ only in spaces, case,
/// composition of letters (NFC, NFD), width and style of letters (NFKC), invisible marks,
/// typographic quotes and hyphens, and Cyrillic and Greek letters that look like Latin ones. A text
/// that is not UTF-8 stays as it is.
[[nodiscard]] std::string looks_like(std::string_view text);

/// The text in ASCII, other characters as "\u00a0", so that texts that look alike can be
/// distinguished; bytes that are not UTF-8 as "\xff".
[[nodiscard]] std::string in_ascii(std::string_view text);

}  // namespace learn::data
