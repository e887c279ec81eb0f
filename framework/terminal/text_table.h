#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace learn {

/// A table of texts for the terminal: aligned columns, two spaces apart.
class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Adds a row. Missing cells are empty; more cells than columns are a UsageError. Characters that
  /// would break the row or control a terminal are escaped by `printable_line`: "\x0a".
  void row(std::vector<std::string> cells);
  /// Returns the table with its header. Each line ends with a newline and has no trailing spaces.
  [[nodiscard]] std::string to_string() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Returns the number of columns a text takes in a terminal: UTF-8 code points (wide characters
/// count as one).
[[nodiscard]] std::size_t display_width(std::string_view text) noexcept;
/// Returns `text` padded with spaces to `width` columns.
[[nodiscard]] std::string padded(std::string_view text, std::size_t width, TextTable::Align align);
/// Returns "1 234 567".
[[nodiscard]] std::string grouped(std::int64_t number);
/// Returns "0:07", "12:34", "1:02:03".
[[nodiscard]] std::string clock_text(double seconds);

}  // namespace learn
