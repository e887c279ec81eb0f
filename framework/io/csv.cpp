#include "framework/io/csv.h"

#include "framework/core/error.h"
#include "framework/core/nan_sign.h"
#include "framework/io/atomic_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace learn {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

/// A spreadsheet takes a text that begins with one of these for a formula, and an apostrophe before
/// it as a sign that it is none; so a text that begins with an apostrophe gets one, too.
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

}  // namespace

std::string csv_line(const std::vector<Cell>& cells) {
  std::string line;
  for (const Cell& cell : cells) {
    if (&cell != &cells.front()) line += ',';
    line += print(cell);
  }
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
                      "a row of {} cells for {} columns of '{}'",
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

CsvTable read_csv(const std::filesystem::path& path) {
  const std::string text = read_text_file(path, std::size_t{1} << 26U);
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string cell;
  bool inside_quotes = false;
  const auto end_cell = [&] {
    if (cell.starts_with('\'') && needs_apostrophe(std::string_view(cell).substr(1)))
      cell.erase(0, 1);
    row.push_back(std::exchange(cell, {}));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside_quotes) {
      if (c != '"') {
        cell += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cell += text[++i];
      } else {
        inside_quotes = false;
      }
    } else if (c == '"') {
      inside_quotes = true;
    } else if (c == ',') {
      end_cell();
    } else if (c == '\n') {
      end_cell();
      rows.push_back(std::exchange(row, {}));
    } else if (c != '\r') {
      cell += c;
    }
  }
  if (inside_quotes) fail<DataError>("'{}': a quote is never closed", path.string());
  if (!cell.empty() || !row.empty()) {
    end_cell();
    rows.push_back(std::move(row));
  }
  if (rows.empty()) fail<DataError>("'{}' is empty", path.string());
  CsvTable table{rows.front(), {rows.begin() + 1, rows.end()}};
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    if (table.rows[i].size() != table.header.size())
      fail<DataError>("'{}': row {} has {} cells, the header has {}",
                      path.string(),
                      i + 1,
                      table.rows[i].size(),
                      table.header.size());
  return table;
}

}  // namespace learn
