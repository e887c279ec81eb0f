#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace learn::data {

/// A table as people and spreadsheets make them, with the lines that its rows begin at, for
/// messages.
struct TextTable {
  struct Row {
    std::size_t line = 0;  ///< counted from 1
    std::vector<std::string> cells;
  };
  std::vector<std::string> header;
  std::vector<Row> rows;
};

/// Reads comma-separated values (or another separator), with quotes as in RFC 4180, lines that end
/// in CR LF, and an UTF-8 mark at the start. Empty lines are passed over. `name`: of the file, for
/// messages. Throws DataError with the line for a quote without end, a row of another width than
/// the header, and for a table without header or rows.
[[nodiscard]] TextTable parse_table(std::span<const std::uint8_t> file,
                                    char separator,
                                    const std::string& name);

}  // namespace learn::data
