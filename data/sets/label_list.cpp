#include "data/sets/label_list.h"

#include "data/files/file_tree.h"
#include "data/images/image_codec.h"
#include "data/names/unicode.h"
#include "data/sets/label_table.h"
#include "data/sets/pattern.h"
#include "framework/core/error.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

}  // namespace

LabelledFiles read_label_lines(const FileTree& tree,
                               const fs::path& path,
                               Part part,
                               const std::string& label_regex) {
  const std::string name = path.string();
  const std::string text = read_text(path);
  std::optional<Pattern> pattern;
  if (!label_regex.empty()) pattern.emplace(label_regex);
  LabelledFiles out{.name = path.stem().string(), .where = name};
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
    const std::string line = trimmed(std::string_view(text).substr(begin, end - begin));
    begin = end + (std::string_view(text).substr(end).starts_with("\r\n") ? 2 : 1);
    ++number;
    if (line.empty() || line.front() == '#') continue;
    LabelledFile file{.part = part, .where = fmt::format("'{}', line {}", name, number)};
    if (pattern) {
      file.path = line;
      file.labels = {pattern->label_of(line, file.where)};
    } else {
      const std::size_t tab = line.rfind('\t');
      const std::size_t blank = tab == std::string::npos ? line.rfind(' ') : tab;
      if (blank == std::string::npos)
        fail<DataError>(
            "{}: '{}' has no label after it: add one, or append ':label_regex=...' to the list's "
            "name{}",
            file.where,
            line,
            line.find_first_of(",;") == std::string::npos
                ? ""
                : fmt::format("; a table is read by 'csv:path={}'", name));
      file.path = trimmed(std::string_view(line).substr(0, blank));
      file.labels = {trimmed(std::string_view(line).substr(blank + 1))};
    }
    if (out.files.empty() && is_image_column(file.path) && !tree.has_file(file.path))
      fail<DataError>(
          "{}: '{}' is a header, which a list does not have: remove the line", file.where, line);
    out.files.push_back(std::move(file));
  }
  if (out.files.empty()) fail<DataError>("'{}' does not name any file", name);
  return out;
}

}  // namespace learn::data
