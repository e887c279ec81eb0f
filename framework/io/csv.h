#pragma once
#include "framework/io/append_file.h"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace learn {

/// A cell of a table: nothing, a number or a text. Whatever the locale, a double is written as
/// "%.6g" for people to read, and a float with the fewest digits that give it back.
using Cell = std::variant<std::monostate, double, float, std::string>;

/// A row of comma-separated values with its newline, as `CsvWriter` writes it.
[[nodiscard]] std::string csv_line(const std::vector<Cell>& cells);

/// Writes comma-separated values, RFC 4180 quoting, and an apostrophe before a text that a
/// spreadsheet would evaluate as a formula, which `parse_csv` removes. A row of one empty cell is
/// `""`, because it is not an empty line. Each row is on the disk when `row` returns, so that a
/// killed run leaves whole rows.
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

/// A table of comma-separated values, as texts.
struct CsvTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  ///< each as wide as the header
  std::vector<std::size_t> lines;              ///< line where a row starts, counted from 1
  std::size_t header_line = 1;                 ///< the same of the header

  /// Column by name, or nothing.
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;
};

/// Reads the output of `CsvWriter`: quotes as in RFC 4180, lines that end in LF, CR LF or CR, a
/// UTF-8 mark at the start. Empty lines are skipped. `name` is the file's, for messages. Throws
/// DataError with the line for a quote without end and a row of another width than the header, and
/// for a text without any row.
[[nodiscard]] CsvTable parse_csv(std::string_view text,
                                 const std::string& name,
                                 char separator = ',');

/// Reads tables of people and spreadsheets: as `parse_csv`, and a first line "sep=;" is not a row
/// but names the separator, blanks before a quoted cell are dropped, and rows whose cells are all
/// blank are skipped. A `separator` of '\0' means that of the line "sep=", or the most frequent one
/// of comma, semicolon and tab in the first row.
[[nodiscard]] CsvTable parse_spreadsheet(std::string_view text,
                                         const std::string& name,
                                         char separator = '\0');

/// The table of a file of up to 64 MiB. Throws IoError, and what `parse_csv` does.
[[nodiscard]] CsvTable read_csv(const std::filesystem::path& path);

}  // namespace learn
