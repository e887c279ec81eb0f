#include "framework/terminal/text_table.h"

#include "framework/core/error.h"
#include "framework/core/printable.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace learn {

std::size_t display_width(std::string_view text) noexcept {
  // Continuation bytes of UTF-8 take no column.
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string padded(std::string_view text, std::size_t width, TextTable::Align align) {
  const std::size_t used = display_width(text);
  const std::string space(used < width ? width - used : 0, ' ');
  return align == TextTable::Align::left ? std::string(text) + space : space + std::string(text);
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, 1, ' ');
  return digits;
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(0.0, seconds)));
  const std::int64_t hours = whole / 3600;
  const std::int64_t minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

void TextTable::row(std::vector<std::string> cells) {
  check<UsageError>(cells.size() <= columns_.size(),
                    "a row of {} cells does not fit a table of {} columns",
                    cells.size(),
                    columns_.size());
  for (std::string& cell : cells) cell = printable_line(cell);
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::to_string() const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::vector<std::size_t> widths(columns_.size(), 0);
  const auto measure = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], display_width(cells[i]));
  };
  measure(titles);
  for (const auto& cells : rows_) measure(cells);

  std::string text;
  const auto print = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) text += "  ";
      text += padded(cells[i], widths[i], columns_[i].align);
    }
    text.resize(text.find_last_not_of(' ') + 1);
    text += '\n';
  };
  print(titles);
  for (const auto& cells : rows_) print(cells);
  return text;
}

}  // namespace learn
