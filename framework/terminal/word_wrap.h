#pragma once
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace learn {

/// Wraps `text` at spaces to lines of at most `width` columns. A word longer than a line is broken
/// after one of "|,;:=/", or otherwise stays whole. Lines after the first are indented by `indent`
/// columns, which count towards the width; `used` columns of the first line are taken already.
/// Newlines in the text are kept; none is added at the end.
[[nodiscard]] std::string wrapped(std::string_view text,
                                  std::size_t width,
                                  std::size_t indent = 0,
                                  std::size_t used = 0);

/// Wraps a line to the width of the terminal that `file` writes to. Returns the line unchanged
/// without a terminal.
[[nodiscard]] std::string folded(std::string_view line, std::FILE* file);

}  // namespace learn
