#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace learn {

/// The items of a list that a user writes in one text. An item that starts with a double quote ends
/// at the next one and may contain separators; two quotes in it mean one, as in CSV: `"New York,
/// NY",Boston`. Items that are empty and not quoted are left out. Throws UsageError for a quote
/// without end, and for text after a closing quote.
[[nodiscard]] std::vector<std::string> split_quoted(std::string_view text, char separator);

/// The text in double quotes, each one in it twice, as CSV has it.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// The inverse of `split_quoted`; quotes only items that need it.
[[nodiscard]] std::string join_quoted(const std::vector<std::string>& items, char separator);

/// A word as a POSIX shell takes it, quoted where it must be, so that it can be copied from a
/// terminal or a page.
[[nodiscard]] std::string shell_word(std::string_view word);

/// Quotes several words, as a command is typed.
[[nodiscard]] std::string shell_words(std::span<const std::string> words);

}  // namespace learn
