#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace learn {

/// The items of a list that a user writes in one text. One that begins with a double quote ends at
/// the next and may hold separators; two quotes in it are one, as in CSV: `"New York, NY",Boston`.
/// Items that are empty and not quoted are left out. Throws UsageError for a quote without end, and
/// for text after a closing quote.
[[nodiscard]] std::vector<std::string> split_quoted(std::string_view text, char separator);

/// The text in double quotes, each one in it twice, as CSV has it.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// What `split_quoted` makes the same items of; quotes only those that need it.
[[nodiscard]] std::string join_quoted(const std::vector<std::string>& items, char separator);

/// A word as a POSIX shell takes it, quoted where it must be, so that it can be copied from a
/// terminal or a page.
[[nodiscard]] std::string shell_word(std::string_view word);

/// The same of several, as a command is typed.
[[nodiscard]] std::string shell_words(std::span<const std::string> words);

}  // namespace learn
