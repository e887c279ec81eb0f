#include "framework/terminal/word_wrap.h"

#include "framework/terminal/progress_bar.h"
#include "framework/terminal/text_table.h"

#include <unistd.h>

#include <algorithm>

namespace learn {
namespace {

/// Returns the longest prefix of a word that fits into `room` columns and ends where it may be
/// broken; empty without such a prefix.
std::string_view part_that_fits(std::string_view word, std::size_t room) {
  for (std::size_t end = word.size(); end-- > 1;)
    if (display_width(word.substr(0, end)) <= room &&
        std::string_view("|,;:=/").find(word[end - 1]) != std::string_view::npos)
      return word.substr(0, end);
  return {};
}

}  // namespace

std::string wrapped(std::string_view text,
                    std::size_t width,
                    std::size_t indent,
                    std::size_t used) {
  std::string out;
  std::size_t column = used;
  const auto new_line = [&] {
    out += '\n' + std::string(indent, ' ');
    column = indent;
  };
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    std::string_view word = text.substr(0, end);
    const bool ends_line = end < text.size() && text[end] == '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t space = first ? 0 : 1;
    first = false;
    if (column + space + display_width(word) > width && column > indent && space > 0)
      new_line();
    else if (space > 0 && column > indent) {
      out += ' ';
      ++column;
    }
    for (std::string_view part;
         column + display_width(word) > width &&
         !(part = part_that_fits(word, width - std::min(width, column))).empty();
         new_line()) {
      out += part;
      word.remove_prefix(part.size());
    }
    out += word;
    column += display_width(word);
    if (ends_line) {
      new_line();
      first = true;
    }
  }
  return out;
}

std::string folded(std::string_view line, std::FILE* file) {
  constexpr std::size_t kIndent = 2;
  const int descriptor = ::fileno(file);
  if (::isatty(descriptor) == 0) return std::string(line);
  return wrapped(line, std::max<std::size_t>(terminal_width(descriptor), 4 * kIndent), kIndent);
}

}  // namespace learn
