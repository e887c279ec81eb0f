#include "framework/io/csv.h"

#include "framework/core/error.h"
#include "framework/core/nan_sign.h"
#include "framework/core/options/quoting.h"
#include "framework/io/atomic_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace learn {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return in_quotes(text);
}

/// A spreadsheet evaluates a text that starts with one of these as a formula, unless an apostrophe
/// precedes it. A text that starts with an apostrophe therefore gets another one.
bool needs_apostrophe(std::string_view text) {
  constexpr std::string_view kFirst = "=+-@\t\r'";
  if (text.empty() || kFirst.find(text.front()) == std::string_view::npos) return false;
  double number = 0;
  const char* const end = text.data() + text.size();
  return std::from_chars(text.data(), end, number).ptr != end;
}

std::string print(const Cell& cell) {
  if (const auto* number = std::get_if<double>(&cell))
    return fmt::format("{:.6g}", without_nan_sign(*number));
  if (const auto* number = std::get_if<float>(&cell))
    return fmt::format("{}", static_cast<float>(without_nan_sign(*number)));
  if (const auto* text = std::get_if<std::string>(&cell))
    return quoted(needs_apostrophe(*text) ? "'" + *text : *text);
  return {};
}

constexpr std::string_view kMark = "\xEF\xBB\xBF";

bool is_blank(const std::string& cell) {
  return cell.find_first_not_of(" \t") == std::string::npos;
}

class Parser {
 public:
  /// `by_people`: see `parse_spreadsheet`.
  Parser(std::string_view text, const std::string& name, char separator, bool by_people)
      : text_(text), name_(name), separator_(separator), by_people_(by_people) {
    if (text_.starts_with(kMark)) at_ = kMark.size();
  }

  /// Every row, the header too.
  CsvTable table() {
    if (by_people_) choose_separator();
    CsvTable table;
    while (at_ < text_.size()) {
      if (skip_end_of_line()) continue;
      const std::size_t line = line_;
      std::vector<std::string> cells = row();
      if (by_people_ && std::ranges::all_of(cells, is_blank)) continue;
      table.lines.push_back(line);
      table.rows.push_back(std::move(cells));
    }
    return table;
  }

  [[nodiscard]] char separator() const { return separator_; }

 private:
  /// A line "sep=;" is recognized with any separator, and is not a row.
  void choose_separator() {
    const std::string_view rest = text_.substr(at_);
    const std::string_view line = rest.substr(0, rest.find_first_of("\r\n"));
    constexpr std::string_view kSays = "sep=";
    const std::size_t quote = line.starts_with('"') ? 1 : 0;
    const bool says = line.size() == kSays.size() + 1 + 2 * quote &&
                      line.substr(quote, kSays.size()) == kSays &&
                      (quote == 0 || line.back() == '"');
    if (says) {
      at_ += line.size();
      if (separator_ == '\0') separator_ = line[quote + kSays.size()];
    }
    if (separator_ == '\0') separator_ = most_frequent_separator();
  }

  /// In the first row, outside of quotes.
  [[nodiscard]] char most_frequent_separator() const {
    const std::string_view rest = text_.substr(at_);
    constexpr std::string_view kKnown = ",;\t";
    std::array<std::size_t, kKnown.size()> counts{};
    bool quoted = false;
    for (std::size_t i = rest.find_first_not_of("\r\n"); i < rest.size(); ++i) {
      if (rest[i] == '"') quoted = !quoted;
      if (quoted) continue;
      if (rest[i] == '\n' || rest[i] == '\r') break;
      if (const std::size_t at = kKnown.find(rest[i]); at != kKnown.npos) ++counts[at];
    }
    return kKnown[static_cast<std::size_t>(std::ranges::max_element(counts) - counts.begin())];
  }

  std::vector<std::string> row() {
    std::vector<std::string> cells(1);
    while (at_ < text_.size() && !skip_end_of_line()) {
      const char c = text_[at_++];
      if (c == '"' && (cells.back().empty() || (by_people_ && is_blank(cells.back())))) {
        cells.back().clear();
        append_quoted(cells.back());
      } else if (c == separator_) {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    for (std::string& cell : cells)
      if (cell.starts_with('\'') && needs_apostrophe(std::string_view(cell).substr(1)))
        cell.erase(0, 1);
    return cells;
  }

  bool skip_end_of_line() {
    const std::string_view rest = text_.substr(at_);
    if (!rest.starts_with('\n') && !rest.starts_with('\r')) return false;
    at_ += rest.starts_with("\r\n") ? 2 : 1;
    ++line_;
    return true;
  }

  /// Up to the closing quote; two of them are one.
  void append_quoted(std::string& cell) {
    const std::size_t began = line_;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '\n' || (c == '\r' && !text_.substr(at_).starts_with('\n'))) ++line_;
      if (c != '"')
        cell += c;
      else if (at_ < text_.size() && text_[at_] == '"')
        cell += text_[at_++];
      else
        return;
    }
    fail<DataError>("'{}', line {}: a closing quote is missing", name_, began);
  }

  std::string_view text_;
  const std::string& name_;
  char separator_;
  bool by_people_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

/// Throws DataError unless all rows have the width of the first, the header.
CsvTable with_header(Parser parser, const std::string& name) {
  CsvTable table = parser.table();
  if (table.rows.empty()) fail<DataError>("'{}' is empty", name);
  table.header = std::move(table.rows.front());
  table.rows.erase(table.rows.begin());
  table.header_line = table.lines.front();
  table.lines.erase(table.lines.begin());
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    if (table.rows[i].size() != table.header.size())
      fail<DataError>("'{}', line {} has {} cells, but the header has {} ({}): '{}'",
                      name,
                      table.lines[i],
                      table.rows[i].size(),
                      table.header.size(),
                      join(table.header),
                      join(table.rows[i], std::string(1, parser.separator())));
  return table;
}

}  // namespace

std::string csv_line(const std::vector<Cell>& cells) {
  std::string line;
  for (const Cell& cell : cells) {
    if (&cell != &cells.front()) line += ',';
    line += print(cell);
  }
  if (line.empty()) line = R"("")";
  return line + '\n';
}

CsvWriter::CsvWriter(const std::filesystem::path& path, const std::vector<std::string>& header)
    : file_(path, AppendFile::Open::empty), columns_(header.size()) {
  row({header.begin(), header.end()});
}

void CsvWriter::row(const std::vector<Cell>& cells) { rows({cells}); }

void CsvWriter::rows(const std::vector<std::vector<Cell>>& rows) {
  std::string lines;
  for (const std::vector<Cell>& cells : rows) {
    check<UsageError>(cells.size() == columns_,
                      "a row of {} cells does not fit the {} columns of '{}'",
                      cells.size(),
                      columns_,
                      file_.path().string());
    lines += csv_line(cells);
  }
  file_.append(lines);
}

std::optional<std::size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

CsvTable parse_csv(std::string_view text, const std::string& name, char separator) {
  return with_header(Parser(text, name, separator, false), name);
}

CsvTable parse_spreadsheet(std::string_view text, const std::string& name, char separator) {
  return with_header(Parser(text, name, separator, true), name);
}

CsvTable read_csv(const std::filesystem::path& path) {
  return parse_csv(read_text_file(path, std::size_t{1} << 26U), path.string());
}

}  // namespace learn
