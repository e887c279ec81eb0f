#pragma once
#include "framework/io/append_file.h"

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace learn {

/// A cell of a table: nothing, a number or a text. Whatever the locale, a double is written as
/// "%.6g" for people to read, and a float with the fewest digits that give it back.
using Cell = std::variant<std::monostate, double, float, std::string>;

/// A row of comma-separated values with its newline, as `CsvWriter` writes it.
[[nodiscard]] std::string csv_line(const std::vector<Cell>& cells);

/// Writes comma-separated values, RFC 4180 quoting, and an apostrophe before a text that a
/// spreadsheet would take for a formula, which `read_csv` takes away again. Each row is on the disk
/// when `row` returns, so that a killed run leaves whole rows.
class CsvWriter {
 public:
  /// Creates or empties the file and writes the header. Throws IoError.
  CsvWriter(const std::filesystem::path& path, const std::vector<std::string>& header);

  /// Throws UsageError unless there are as many cells as columns, IoError if it cannot be written.
  void row(const std::vector<Cell>& cells);
  /// Many, which are on the disk together.
  void rows(const std::vector<std::vector<Cell>>& rows);

 private:
  AppendFile file_;
  std::size_t columns_;
};

/// A file of comma-separated values: the header and the rows below it, as texts.
struct CsvTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  /// Column by name, or nothing.
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;
};
/// Throws IoError, DataError for a quote without end or a row of another width than the header.
[[nodiscard]] CsvTable read_csv(const std::filesystem::path& path);

}  // namespace learn
