#include "data/csv_table.h"

#include "framework/core/error.h"

#include <string_view>
#include <utility>

namespace learn::data {
namespace {

class Parser {
 public:
  Parser(std::string_view text, char separator, const std::string& name)
      : text_(text), separator_(separator), name_(name) {}

  std::vector<TextTable::Row> rows() {
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kMark)) at_ = kMark.size();
    std::vector<TextTable::Row> rows;
    while (at_ < text_.size()) {
      TextTable::Row row = next();
      if (row.cells.size() > 1 || !row.cells.front().empty()) rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  TextTable::Row next() {
    TextTable::Row row{.line = line_, .cells = {std::string()}};
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"' && row.cells.back().empty()) {
        quoted(row.cells.back());
      } else if (c == separator_) {
        row.cells.emplace_back();
      } else if (c == '\n') {
        ++line_;
        break;
      } else if (c != '\r' || (at_ < text_.size() && text_[at_] != '\n')) {
        row.cells.back() += c;
      }
    }
    return row;
  }

  /// Up to its closing quote; two of them are one.
  void quoted(std::string& cell) {
    const std::size_t began = line_;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '\n') ++line_;
      if (c != '"') {
        cell += c;
      } else if (at_ < text_.size() && text_[at_] == '"') {
        cell += text_[at_++];
      } else {
        return;
      }
    }
    fail<DataError>("'{}', line {}: a quote is never closed", name_, began);
  }

  std::string_view text_;
  char separator_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

}  // namespace

TextTable parse_table(std::span<const std::uint8_t> file, char separator, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  TextTable table{{}, Parser(text, separator, name).rows()};
  if (table.rows.empty()) fail<DataError>("'{}' is empty", name);
  table.header = std::move(table.rows.front().cells);
  table.rows.erase(table.rows.begin());
  if (table.rows.empty()) fail<DataError>("'{}' has a header and no rows", name);
  for (const TextTable::Row& row : table.rows)
    if (row.cells.size() != table.header.size())
      fail<DataError>("'{}', line {}: {} cells, the header has {} ({}): '{}'",
                      name,
                      row.line,
                      row.cells.size(),
                      table.header.size(),
                      join(table.header),
                      join(row.cells, std::string(1, separator)));
  return table;
}

}  // namespace learn::data
