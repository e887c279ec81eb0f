#pragma once
#include <string>
#include <string_view>

namespace learn {

/// The text as a terminal may show it. What could steer the terminal or hide what is written is
/// made visible: control characters but newline and tab, marks that turn the direction of writing,
/// and bytes that are not UTF-8 become "\x1b" and the like. Names of files and classes come from
/// anywhere.
[[nodiscard]] std::string printable(std::string_view text);
/// The same in one line: newlines and tabs are made visible too. For a value in a message.
[[nodiscard]] std::string printable_line(std::string_view text);

}  // namespace learn
