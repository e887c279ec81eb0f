#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace learn {

/// The items of a list that a user writes in one text. One that begins with a double quote ends at
/// the next and may hold separators; two quotes in it are one, as in CSV: `"New York, NY",Boston`.
/// Items that are empty and not quoted are left out. Throws UsageError for a quote without end, and
/// for text after a closing quote.
[[nodiscard]] std::vector<std::string> split_quoted(std::string_view text, char separator);

/// What `split_quoted` makes the same items of; quotes only those that need it.
[[nodiscard]] std::string join_quoted(const std::vector<std::string>& items, char separator);

}  // namespace learn
