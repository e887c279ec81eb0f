#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace learn::data {

/// Converts the text of a file from a person or a spreadsheet to UTF-8: removes its byte order
/// mark, and converts UTF-16 with a mark. Throws DataError, which does not name the file, for
/// damaged UTF-16 and for zero bytes, which UTF-8 text never contains.
[[nodiscard]] std::string decoded_text(const std::vector<std::uint8_t>& bytes);

/// Trims blanks at both ends, including Unicode blanks: no-break spaces, ideographic spaces,
/// zero-width spaces, byte order marks. Trims only ASCII blanks from text that is not UTF-8.
[[nodiscard]] std::string trimmed(std::string_view text);

/// Returns a common form of all texts that look alike: those that differ only in blanks, case,
/// composition of letters (NFC, NFD), width and style of letters (NFKC), invisible marks,
/// typographic quotes and hyphens, and Cyrillic and Greek letters in the shape of Latin ones. Text
/// that is not UTF-8 is unchanged.
[[nodiscard]] std::string looks_like(std::string_view text);

/// Returns the text in ASCII, other characters as "\u00a0", to distinguish texts that look alike;
/// bytes that are not UTF-8 as "\xff".
[[nodiscard]] std::string in_ascii(std::string_view text);

}  // namespace learn::data
