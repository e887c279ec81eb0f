#include "data/label_list.h"

#include "data/names.h"
#include "data/pattern.h"
#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/core/option_table.h"
#include "framework/io/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& list) {
  try {
    const std::vector<std::uint8_t> bytes = read_file(list);
    return {bytes.begin(), bytes.end()};
  } catch (const DataError& error) {
    fail<DataError>("'{}': {}", list.string(), error.what());
  }
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kBlank) + 1 - first));
}

/// The texts between separators, without blanks around them; none of an empty text.
std::vector<std::string> parts_of(std::string_view text, const std::string& separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    std::string part = trimmed(text.substr(begin, end - begin));
    if (!part.empty()) parts.push_back(std::move(part));
    begin = end + separator.size();
  }
  return parts;
}

/// Columns of a table by what a user said, or by usual names.
class Columns {
 public:
  Columns(const CsvTable& table, const std::string& name, const TableColumns& wanted)
      : header_(table.header), name_(name) {
    image = given(wanted.image)
                .value_or(usual({"image",
                                 "file",
                                 "filename",
                                 "file_name",
                                 "path",
                                 "fname",
                                 "name",
                                 "image_name",
                                 "image_id",
                                 "id"})
                              .value_or(0));
    for (const std::string& target : wanted.targets) targets.push_back(*given(target));
    if (targets.empty())
      label = given(wanted.label)
                  .value_or(usual({"label", "labels", "class", "tags", "target", "category"})
                                .value_or(second()));
    split = given(wanted.split);
    if (!split) split = usual({"split", "is_valid", "subset"});
  }

  std::size_t image = 0;
  std::size_t label = 0;
  std::optional<std::size_t> split;
  std::vector<std::size_t> targets;

 private:
  [[nodiscard]] std::optional<std::size_t> given(const std::string& column) const {
    if (column.empty()) return std::nullopt;
    const auto found = std::ranges::find(header_, column);
    if (found == header_.end())
      fail<DataError>("'{}' has no column '{}'{}; it has: {}",
                      name_,
                      column,
                      did_you_mean(column, header_),
                      join(header_));
    return static_cast<std::size_t>(found - header_.begin());
  }

  [[nodiscard]] std::optional<std::size_t> usual(
      std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names)
      for (std::size_t i = 0; i < header_.size(); ++i)
        if (in_small_letters(trimmed(header_[i])) == name) return i;
    return std::nullopt;
  }

  /// What is not the image's.
  [[nodiscard]] std::size_t second() const {
    if (header_.size() < 2)
      fail<DataError>(
          "'{}' has one column, '{}': there is none for labels; is another separator meant "
          "(':separator=semicolon')?",
          name_,
          header_.front());
    return image == 1 ? 0 : 1;
  }

  const std::vector<std::string>& header_;
  const std::string& name_;
};

Part part_of(const std::string& cell, const std::string& where) {
  const std::string text = in_small_letters(trimmed(cell));
  if (const Part part = part_named(text); part != Part::unsaid) return part;
  const auto is = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, text) != words.end();
  };
  if (is({"false", "0", "no"})) return Part::train;
  if (is({"true", "1", "yes"})) return Part::valid;
  fail<DataError>(
      "{}: the split is '{}': it is train, valid or test, or true (for validation) or false",
      where,
      cell);
}

float value_of(const std::string& cell, const std::string& where) {
  try {
    return static_cast<float>(parse_real(trimmed(cell), kAnyNumber));
  } catch (const UsageError& error) {
    fail<DataError>("{}: {}", where, error.what());
  }
}

}  // namespace

LabelledFiles read_label_table(const fs::path& path, char separator, const TableColumns& wanted) {
  const std::string name = path.string();
  const CsvTable table = parse_csv(text_of(path), name, separator);
  if (table.rows.empty()) fail<DataError>("'{}' has a header and no rows", name);
  const Columns columns(table, name, wanted);
  LabelledFiles out{.name = path.stem().string(), .where = name};
  if (!columns.targets.empty()) {
    out.kind = TargetKind::values;
    out.value_names = wanted.targets;
  } else if (!wanted.label_delim.empty()) {
    out.kind = TargetKind::labels;
  }
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const std::vector<std::string>& row = table.rows[i];
    LabelledFile file{.where = fmt::format("'{}', line {}", name, table.lines[i])};
    const std::string image = trimmed(row[columns.image]);
    if (image.empty())
      fail<DataError>("{}: no file in column '{}'", file.where, table.header[columns.image]);
    file.path = image + wanted.suffix;
    const std::string& label = row[columns.label];
    if (out.kind == TargetKind::labels) file.labels = parts_of(label, wanted.label_delim);
    if (out.kind == TargetKind::classes) file.labels = {trimmed(label)};
    if (out.kind == TargetKind::classes && file.labels.front().empty())
      fail<DataError>("{}: no label in column '{}'", file.where, table.header[columns.label]);
    for (const std::size_t target : columns.targets)
      file.values.push_back(value_of(row[target], file.where));
    if (columns.split) file.part = part_of(row[*columns.split], file.where);
    out.files.push_back(std::move(file));
  }
  log::info("[data] '{}': files by '{}', {}{}",
            name,
            table.header[columns.image],
            out.kind == TargetKind::values ? "numbers by " + join(wanted.targets)
                                           : "labels by '" + table.header[columns.label] + "'",
            columns.split ? ", split by '" + table.header[*columns.split] + "'" : "");
  return out;
}

LabelledFiles read_label_lines(const fs::path& path, Part part, const std::string& label_regex) {
  const std::string name = path.string();
  const std::string text = text_of(path);
  std::optional<Pattern> pattern;
  if (!label_regex.empty()) pattern.emplace(label_regex);
  LabelledFiles out{.name = path.stem().string(), .where = name};
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = trimmed(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
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
            "{}: '{}' has no label behind it: add one, or say ':label_regex=...' behind the list's "
            "name",
            file.where,
            line);
      file.path = trimmed(std::string_view(line).substr(0, blank));
      file.labels = {line.substr(blank + 1)};
    }
    out.files.push_back(std::move(file));
  }
  if (out.files.empty()) fail<DataError>("'{}' names no files", name);
  return out;
}

}  // namespace learn::data
