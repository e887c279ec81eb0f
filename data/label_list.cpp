#include "data/label_list.h"

#include "data/image_codec.h"
#include "data/label_table.h"
#include "data/pattern.h"
#include "data/unicode.h"
#include "framework/core/error.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

std::string class_of(const Pattern& pattern, const std::string& path, const std::string& where) {
  const std::optional<std::string> label = pattern.find(path);
  if (!label || label->empty())
    fail<DataError>("{}: '{}' {} the regular expression '{}', so it has no label",
                    where,
                    path,
                    label ? "has an empty match of" : "does not match",
                    pattern.text());
  return *label;
}

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
      file.labels = {class_of(*pattern, line, file.where)};
    } else {
      const std::size_t tab = line.rfind('\t');
      const std::size_t blank = tab == std::string::npos ? line.rfind(' ') : tab;
      if (blank == std::string::npos)
        fail<DataError>(
            "{}: '{}' has no label after it: add one, or say ':label_regex=...' after the list's "
            "name{}",
            file.where,
            line,
            line.find_first_of(",;") == std::string::npos
                ? ""
                : fmt::format("; a table is read by 'csv:path={}'", name));
      file.path = trimmed(std::string_view(line).substr(0, blank));
      file.labels = {trimmed(std::string_view(line).substr(blank + 1))};
    }
    if (out.files.empty() && is_image_column(file.path.string()) && !tree.has_file(file.path))
      fail<DataError>(
          "{}: '{}' is a header, which a list does not have: remove the line", file.where, line);
    out.files.push_back(std::move(file));
  }
  if (out.files.empty()) fail<DataError>("'{}' names no files", name);
  return out;
}

LabelledFiles label_by_path(const FileTree& tree,
                            const std::string& label_regex,
                            const std::string& valid_regex) {
  std::optional<Pattern> label;
  if (!label_regex.empty()) label.emplace(label_regex);
  std::optional<Pattern> valid;
  if (!valid_regex.empty()) valid.emplace(valid_regex);
  const bool parts = tree.has_folder("train");
  LabelledFiles out{.name = tree.name(), .where = tree.text()};
  for (const fs::path& path : tree.files({})) {
    if (!has_image_name(path)) continue;
    LabelledFile file{.path = path, .where = "'" + tree.text() + "'"};
    auto folder = path.begin();
    if (parts) {
      const std::string first = folder->string();
      if (first == "train") file.part = Part::train;
      if (first == "valid" || first == "val") file.part = Part::valid;
      if (first == "test") file.part = Part::test;
      if (file.part == Part::unsaid) continue;
      ++folder;
    }
    if (valid) file.part = valid->find(path.string()) ? Part::valid : Part::train;
    if (!label && std::next(folder) == path.end())
      fail<DataError>("'{}' lies in no folder of a class: move it, or say ':label_regex=...'",
                      tree.text(path));
    file.labels = {label ? class_of(*label, path.generic_string(), file.where) : folder->string()};
    out.files.push_back(std::move(file));
  }
  if (out.files.empty()) fail<DataError>("'{}' has no {} files", tree.text(), image_extensions());
  if (valid && std::ranges::none_of(
                   out.files, [](const LabelledFile& file) { return file.part == Part::valid; }))
    fail<DataError>("no image of '{}' matches '{}', the regular expression of validation images",
                    tree.text(),
                    valid_regex);
  return out;
}

}  // namespace learn::data
