#pragma once
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace learn {

/// `text` in lines of at most `width` columns, broken at spaces. What is longer than a line is
/// broken behind one of "|,;:=/", or else stays whole. Lines behind the first are indented by
/// `indent` columns, which count; the first is taken to begin behind `used` columns that are there
/// already. No newline at the end; those in the text stay.
[[nodiscard]] std::string wrapped(std::string_view text,
                                  std::size_t width,
                                  std::size_t indent = 0,
                                  std::size_t used = 0);

/// The same for a line that is told to the terminal behind a file, by its width; the line as it is
/// where there is none.
[[nodiscard]] std::string folded(std::string_view line, std::FILE* file);

}  // namespace learn
