#include "data/sets/label_table.h"

#include "data/files/file_tree.h"
#include "data/images/image_codec.h"
#include "data/names/names.h"
#include "data/names/unicode.h"
#include "framework/core/error.h"
#include "framework/core/log.h"
#include "framework/core/options/option_table.h"
#include "framework/core/printable.h"
#include "framework/io/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace learn::data {
namespace {

namespace fs = std::filesystem;
using Names = std::span<const std::string_view>;

constexpr std::string_view kImageNames[]{"image",
                                         "file",
                                         "filename",
                                         "file_name",
                                         "path",
                                         "fname",
                                         "name",
                                         "image_name",
                                         "image_id",
                                         "id"};
constexpr std::string_view kLabelNames[]{"label", "labels", "class", "tags", "target", "category"};
constexpr std::string_view kSplitNames[]{"split", "is_valid", "subset"};

// Values of a split column, in addition to the names of parts.
constexpr std::string_view kFalse[]{"false", "no", "f", "n"};
constexpr std::string_view kTrue[]{"true", "yes", "t", "y"};

bool is_one_of(const std::string& text, Names names) {
  return std::ranges::find(names, std::string_view(in_small_letters(text))) != names.end();
}

/// Returns the cell's number, or nothing if it is not a number.
std::optional<double> number_in(std::string cell) {
  if (cell.starts_with('+')) cell.erase(0, 1);
  try {
    return parse_real(cell, kAnyNumber);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

/// Returns whether the text would be a number without its decimal comma or thousands separators.
bool is_number_with_comma(std::string text) {
  const auto marks = std::erase(text, ',');
  std::erase(text, '.');
  return marks > 0 && number_in(text).has_value();
}

float number_of(const std::string& cell, const std::string& where, const std::string& column) {
  const std::string text = trimmed(cell);
  const std::string place = fmt::format("{}, column '{}'", where, column);
  if (text.empty())
    fail<DataError>("{}: the number is missing: fill it in, or remove the row", place);
  if (is_number_with_comma(text))
    fail<DataError>(
        "{}: '{}' has a comma: write numbers with a decimal point and without thousands separators",
        place,
        text);
  const std::optional<double> number = number_in(text);
  if (!number) fail<DataError>("{}: '{}' is not a number", place, in_ascii(text));
  const auto value = static_cast<float>(*number);
  if (!std::isfinite(value)) fail<DataError>("{}: '{}' is too large", place, text);
  return value;
}

/// Returns the part that a cell names; `unsaid` for an empty cell.
Part part_of(const std::string& cell, const std::string& where) {
  const std::string text = trimmed(cell);
  if (text.empty()) return Part::unsaid;
  const std::optional<double> number = number_in(text);
  if (is_one_of(text, kFalse) || number == 0.0) return Part::train;
  if (is_one_of(text, kTrue) || number == 1.0) return Part::valid;
  if (const Part part = part_named(text); part != Part::unsaid) return part;
  fail<DataError>(
      "{}: the split is '{}': it must be train, valid or test, or true (validation) or false",
      where,
      in_ascii(text));
}

/// Returns the texts between separators, without blanks around them; nothing for an empty text.
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

/// A table whose columns are found by name or position.
class Table {
 public:
  Table(const fs::path& path, const std::string& name, char separator)
      : name_(name), csv_(parse_spreadsheet(read_text(path), name, separator)) {
    for (std::string& cell : csv_.header) cell = trimmed(cell);
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<std::string>& header() const { return csv_.header; }
  [[nodiscard]] std::size_t rows() const { return csv_.rows.size(); }
  [[nodiscard]] const std::string& cell(std::size_t row, std::size_t column) const {
    return csv_.rows[row][column];
  }
  [[nodiscard]] std::size_t line(std::size_t row) const { return csv_.lines[row]; }
  [[nodiscard]] std::string where(std::size_t row) const {
    return fmt::format("'{}', line {}", name_, line(row));
  }
  [[nodiscard]] std::vector<float> numbers(std::size_t row,
                                           const std::vector<std::size_t>& columns) const {
    std::vector<float> values;
    for (const std::size_t column : columns)
      values.push_back(number_of(cell(row, column), where(row), header()[column]));
    return values;
  }

  /// Throws DataError unless there are rows, and if a row repeats the header.
  void check_rows() const {
    if (csv_.rows.empty()) fail<DataError>("'{}' has a header and no rows", name_);
    for (std::size_t i = 0; i < rows(); ++i)
      if (csv_.rows[i] == csv_.header)
        fail<DataError>("{}: this line repeats the header: remove it", where(i));
  }

  /// Makes the first line a row, under these names.
  void take_header_as_row(std::vector<std::string> names) {
    csv_.rows.insert(csv_.rows.begin(), std::exchange(csv_.header, std::move(names)));
    csv_.lines.insert(csv_.lines.begin(), csv_.header_line);
  }

  /// Throws DataError for a column that is missing or occurs twice.
  [[nodiscard]] std::size_t given(const std::string& column) const {
    const auto found = std::ranges::find(header(), column);
    if (found == header().end()) {
      const bool numbers = std::ranges::all_of(
          header(), [](const std::string& cell) { return number_in(cell).has_value(); });
      fail<DataError>(
          "'{}' has no column '{}'{}; it has: {}{}",
          name_,
          column,
          did_you_mean(column, header()),
          join(header()),
          numbers ? "; its first line contains numbers: add a line of column names above it" : "");
    }
    // Checkpoints store one name per line.
    if (printable_line(column) != column)
      fail<DataError>(
          "'{}': the name of column '{}' contains characters that cannot be displayed: rename it",
          name_,
          in_ascii(column));
    if (std::ranges::count(header(), column) > 1)
      fail<DataError>("'{}' has two columns '{}': rename one", name_, column);
    return static_cast<std::size_t>(found - header().begin());
  }

  [[nodiscard]] std::vector<std::size_t> given(const std::vector<std::string>& columns) const {
    std::vector<std::size_t> all;
    for (const std::string& column : columns) all.push_back(given(column));
    return all;
  }

  [[nodiscard]] std::optional<std::size_t> usual(Names names) const {
    for (const std::string_view name : names)
      for (std::size_t i = 0; i < header().size(); ++i)
        if (in_small_letters(header()[i]) == name) return given(header()[i]);
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::size_t> given_or_usual(const std::string& column,
                                                          Names names) const {
    return column.empty() ? usual(names) : given(column);
  }

  /// Returns at least `count` columns that are not among these, unless there are fewer. Omits
  /// columns without a name, which hold row numbers, if enough remain.
  [[nodiscard]] std::vector<std::size_t> others(const std::vector<std::size_t>& taken,
                                                std::size_t count) const {
    std::vector<std::size_t> named, all;
    for (std::size_t i = 0; i < header().size(); ++i) {
      if (std::ranges::find(taken, i) != taken.end()) continue;
      all.push_back(i);
      if (!header()[i].empty() && !header()[i].starts_with("Unnamed: ")) named.push_back(i);
    }
    return named.size() < count ? all : named;
  }

 private:
  std::string name_;
  CsvTable csv_;
};

/// Returns whether a cell of the first line names an image, which makes the line a row.
bool is_image(const FileTree& tree, const std::string& cell, const std::string& suffix) {
  if (cell.empty() || is_image_column(cell)) return false;
  const std::string file = cell + suffix;
  return has_image_name(cell) || (tree.has_file(file) && !tree.has_folder(file));
}

/// Treats the first line as a row if it is one.
void find_header(const FileTree& tree, const TableColumns& wanted, Table& table) {
  const auto image = std::ranges::find_if(
      table.header(), [&](const std::string& cell) { return is_image(tree, cell, wanted.suffix); });
  if (image == table.header().end()) return;
  const bool none_given = wanted.image.empty() && wanted.label.empty() && wanted.split.empty() &&
                          wanted.targets.empty();
  if (table.header().size() != 2 || !none_given)
    fail<DataError>(
        "'{}' has no header: its first line names an image, '{}'; add a line of column names above "
        "it, such as file,label,split",
        table.name(),
        *image);
  const bool first = image == table.header().begin();
  log::warn("[data] '{}' has no header: files are taken from the {} column, labels from the {}",
            table.name(),
            first ? "first" : "second",
            first ? "second" : "first");
  table.take_header_as_row(first ? std::vector<std::string>{"file", "label"}
                                 : std::vector<std::string>{"label", "file"});
}

/// The use of a table's columns.
struct Columns {
  std::vector<std::size_t> features;
  std::optional<std::size_t> image;
  std::optional<std::size_t> label;
  std::optional<std::size_t> split;
  std::vector<std::size_t> targets;

  [[nodiscard]] std::vector<std::size_t> taken() const {
    std::vector<std::size_t> all = features;
    all.insert(all.end(), targets.begin(), targets.end());
    for (const auto& one : {image, label, split})
      if (one) all.push_back(*one);
    return all;
  }
};

/// Finds by position the columns that neither the user nor their names determine.
void find_by_place(const Table& table, Columns& columns) {
  const bool labelled = columns.label || !columns.targets.empty();
  const bool samples = columns.image || !columns.features.empty();
  const std::vector<std::size_t> left =
      table.others(columns.taken(), (labelled ? 0 : 1) + (samples ? 0 : 1));
  auto next = left.begin();
  if (!samples && next != left.end()) columns.image = *next++;
  if (!columns.features.empty() && !labelled && left.size() != 1)
    fail<DataError>(
        "'{}': set the column of classes, ':label=COLUMN', or the columns of numbers to predict, "
        "':targets=(COLUMN,...)'; it has: {}",
        table.name(),
        join(table.header()));
  if (!labelled && next != left.end()) columns.label = *next;
  if (labelled ? !columns.image && columns.features.empty() : !columns.label)
    fail<DataError>(
        "'{}' has no column for {}; it has: {}; is another separator meant "
        "(':separator=semicolon')?",
        table.name(),
        labelled ? "files" : "labels",
        join(table.header()));
}

Columns columns_of(const Table& table, const TableColumns& wanted) {
  Columns out{.features = table.given(wanted.features), .targets = table.given(wanted.targets)};
  out.split = table.given_or_usual(wanted.split, kSplitNames);
  if (out.features.empty()) out.image = table.given_or_usual(wanted.image, kImageNames);
  if (out.targets.empty()) out.label = table.given_or_usual(wanted.label, kLabelNames);
  find_by_place(table, out);
  std::vector<std::size_t> taken = out.taken();
  std::ranges::sort(taken);
  if (const auto twice = std::ranges::adjacent_find(taken); twice != taken.end())
    fail<UsageError>(
        "'{}': column '{}' is used twice: it can be only one of feature, target, label, image and "
        "split",
        table.name(),
        table.header()[*twice]);
  return out;
}

void read_labels(LabelledFile& file,
                 const std::string& cell,
                 const LabelledFiles& out,
                 const std::string& delimiter,
                 const std::string& column) {
  if (out.kind == TargetKind::labels)
    file.labels = parts_of(cell, delimiter);
  else
    file.labels = {trimmed(cell)};
  for (const std::string& label : file.labels) {
    if (label.empty()) fail<DataError>("{}: no label in column '{}'", file.where, column);
    if (!is_utf8(label))
      fail<DataError>(
          "{}: the label '{}' is not UTF-8: save the table as UTF-8", file.where, label);
  }
}

void say_columns(const Table& table, const Columns& columns, const TableColumns& wanted) {
  const auto name = [&](std::size_t column) { return "'" + table.header()[column] + "'"; };
  log::info(
      "[data] '{}': {}, {}{}",
      table.name(),
      columns.image ? "files by " + name(*columns.image) : "features by " + join(wanted.features),
      columns.label ? "labels by " + name(*columns.label) : "numbers by " + join(wanted.targets),
      columns.split ? ", split by " + name(*columns.split) : "");
}

}  // namespace

bool is_image_column(const std::string& name) { return is_one_of(name, kImageNames); }

LabelledFiles read_label_table(const FileTree& tree,
                               const fs::path& path,
                               char separator,
                               const TableColumns& wanted) {
  Table table(path, path.string(), separator);
  if (wanted.features.empty()) find_header(tree, wanted, table);
  table.check_rows();
  const Columns columns = columns_of(table, wanted);
  LabelledFiles out{.name = path.stem().string(), .where = table.name()};
  out.feature_names = wanted.features;
  if (!columns.targets.empty()) {
    out.kind = TargetKind::values;
    out.value_names = wanted.targets;
  } else if (!wanted.label_delim.empty()) {
    out.kind = TargetKind::labels;
  }
  std::size_t unsaid = 0;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    LabelledFile file{.where = table.where(i)};
    if (columns.image) {
      const std::string image = trimmed(table.cell(i, *columns.image));
      if (image.empty())
        fail<DataError>("{}: no file in column '{}'", file.where, table.header()[*columns.image]);
      file.path = image + wanted.suffix;
    } else {
      file.path = fmt::format("{}:{}", table.name(), table.line(i));
      file.features = table.numbers(i, columns.features);
    }
    if (columns.label)
      read_labels(file,
                  table.cell(i, *columns.label),
                  out,
                  wanted.label_delim,
                  table.header()[*columns.label]);
    file.values = table.numbers(i, columns.targets);
    if (columns.split) {
      file.part = part_of(table.cell(i, *columns.split), file.where);
      unsaid += file.part == Part::unsaid ? 1 : 0;
    }
    out.files.push_back(std::move(file));
  }
  say_columns(table, columns, wanted);
  if (unsaid > 0)
    log::warn("[data] '{}': {} of {} rows have an empty split and are used for training",
              table.name(),
              unsaid,
              table.rows());
  return out;
}

FeatureRows read_feature_rows(const fs::path& path,
                              const std::string& name,
                              const std::vector<std::string>& wanted) {
  const Table table(path, name, '\0');
  table.check_rows();
  const std::vector<std::size_t> columns = table.given(wanted);
  FeatureRows out;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    out.names.push_back(fmt::format("{}:{}", name, table.line(i)));
    const std::vector<float> values = table.numbers(i, columns);
    out.values.insert(out.values.end(), values.begin(), values.end());
  }
  return out;
}

}  // namespace learn::data
