#pragma once
#include <span>
#include <string>
#include <string_view>

namespace learn {

/// A word as a POSIX shell takes it, quoted where it must be, so that it can be copied from a
/// terminal or a page.
[[nodiscard]] std::string shell_word(std::string_view word);

/// The same of several, as a command is typed.
[[nodiscard]] std::string shell_words(std::span<const std::string> words);

}  // namespace learn
