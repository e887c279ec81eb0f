#include "apps/learn/runs/run_table.h"

#include "apps/learn/runs/run_texts.h"
#include "framework/core/error.h"
#include "framework/core/format.h"
#include "framework/terminal/text_table.h"

#include <algorithm>
#include <stdexcept>

namespace learn::cli {
namespace {

constexpr std::size_t kMaxCell = 40;

/// Rows below a title are indented.
std::string name_text(const RunTable& table, const RunTable::Row& row) {
  return cell_text((table.title.empty() ? "" : "  ") + row.name, kMaxCell);
}

std::string text_of(const RunTable::Cell& cell) {
  if (!cell) return "?";
  return cell->empty() ? "-" : cell_text(*cell, kMaxCell);
}

/// The end of the runs from `first` on that fit next to each other; at least one does.
std::size_t last_that_fits(std::span<const RunTable> tables,
                           const std::vector<std::string>& runs,
                           std::size_t first,
                           std::size_t width) {
  if (width == 0) return runs.size();
  std::size_t used = 0;
  for (const RunTable& table : tables)
    for (const RunTable::Row& row : table.rows)
      used = std::max(used, display_width(name_text(table, row)));
  for (std::size_t i = first; i < runs.size(); ++i) {
    std::size_t widest = display_width(runs[i]);
    for (const RunTable& table : tables)
      for (const RunTable::Row& row : table.rows)
        widest = std::max(widest, display_width(text_of(row.cells[i])));
    used += 2 + widest;
    if (used > width && i > first) return i;
  }
  return runs.size();
}

/// Table of some of the runs. Titles are between the rows of one table, so that they do not widen a
/// column.
std::string block(std::span<const RunTable> tables,
                  const std::vector<std::string>& runs,
                  std::size_t first,
                  std::size_t end) {
  std::vector<TextTable::Column> columns{{""}};
  for (std::size_t i = first; i < end; ++i) columns.push_back({runs[i]});
  TextTable aligned(std::move(columns));
  for (const RunTable& table : tables)
    for (const RunTable::Row& row : table.rows) {
      std::vector<std::string> cells{name_text(table, row)};
      for (std::size_t i = first; i < end; ++i) cells.push_back(text_of(row.cells[i]));
      aligned.row(std::move(cells));
    }
  const std::vector<std::string> lines = lines_of(aligned.to_string());
  auto line = lines.begin();
  std::string text = *line++ + "\n";
  for (const RunTable& table : tables) {
    if (!table.title.empty()) text += "\n" + table.title + "\n";
    for (std::size_t i = 0; i < table.rows.size(); ++i) text += *line++ + "\n";
  }
  return text;
}

}  // namespace

bool RunTable::Row::differs() const {
  std::set<Cell> known(cells.begin(), cells.end());
  known.erase(std::nullopt);
  return known.size() > 1;
}

const RunTable::Row& RunTable::row(std::string_view name) const {
  const auto found = std::ranges::find(rows, name, &Row::name);
  if (found == rows.end()) fail<std::logic_error>("row '{}' does not exist", name);
  return *found;
}

std::string to_text(std::span<const RunTable> tables,
                    const std::vector<std::string>& runs,
                    std::size_t width) {
  std::string text;
  for (std::size_t first = 0; first < runs.size();) {
    const std::size_t end = last_that_fits(tables, runs, first, width);
    text += (first > 0 ? "\n" : "") + block(tables, runs, first, end);
    first = end;
  }
  return text;
}

}  // namespace learn::cli
