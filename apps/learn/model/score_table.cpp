#include "apps/learn/model/score_table.h"

#include "apps/learn/common/json_number.h"
#include "apps/learn/model/evaluation.h"
#include "framework/core/nan_sign.h"
#include "framework/io/csv.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace learn::cli {
namespace {

using Digits = ScoreTable::Digits;

std::string text_of(double value, Digits digits) {
  if (digits == Digits::count) return std::to_string(static_cast<std::int64_t>(value));
  return digits == Digits::share ? four_digits(value) : six_digits(value);
}

std::vector<std::string> cells_of(const ScoreTable& table,
                                  const ScoreTable::Row& row,
                                  bool dashes) {
  std::vector<std::string> cells{row.name};
  for (std::size_t i = 0; i < row.scores.size(); ++i) {
    const auto& [value, of_nothing] = row.scores[i];
    cells.push_back(!value                 ? ""
                    : of_nothing && dashes ? "-"
                                           : text_of(*value, table.columns[i].digits));
  }
  return cells;
}

}  // namespace

std::vector<TextTable::Column> text_columns(const ScoreTable& table) {
  std::vector<TextTable::Column> columns{{table.what}};
  for (const ScoreTable::Column& column : table.columns)
    columns.push_back({column.title, TextTable::Align::right});
  return columns;
}

std::vector<std::string> text_cells(const ScoreTable& table, const ScoreTable::Row& row) {
  std::vector<std::string> cells = cells_of(table, row, true);
  if (!row.text_name.empty()) cells.front() = row.text_name;
  return cells;
}

std::string to_text(const ScoreTable& table) {
  TextTable text(text_columns(table));
  for (const auto* rows : {&table.rows, &table.means})
    for (const ScoreTable::Row& row : *rows) text.row(text_cells(table, row));
  return text.to_string();
}

html::Table page_table(const ScoreTable& table, bool dashes) {
  html::Table page{.columns = {{table.what}}, .rows = {}};
  for (const ScoreTable::Column& column : table.columns)
    page.columns.push_back({column.title, true});
  for (const auto* rows : {&table.rows, &table.means})
    for (const ScoreTable::Row& row : *rows) page.rows.push_back({cells_of(table, row, dashes)});
  return page;
}

nlohmann::ordered_json to_json(const ScoreTable& table, const ScoreTable::Row& row) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < row.scores.size(); ++i) {
    const auto& [value, of_nothing] = row.scores[i];
    if (!value) continue;
    nlohmann::ordered_json& score = out[table.columns[i].key];
    if (table.columns[i].digits == Digits::count)
      score = static_cast<std::int64_t>(*value);
    else if (!of_nothing)
      score = finite_or_null(*value);
  }
  return out;
}

void save_csv(const ScoreTable& table, const std::filesystem::path& path) {
  std::vector<std::string> header{table.what};
  for (const ScoreTable::Column& column : table.columns) header.push_back(column.key);
  std::vector<std::vector<Cell>> lines;
  for (const auto* rows : {&table.rows, &table.means})
    for (const ScoreTable::Row& row : *rows) {
      std::vector<Cell>& line = lines.emplace_back();
      line.emplace_back(row.name);
      for (const auto& [value, of_nothing] : row.scores)
        line.push_back(value ? Cell(*value) : Cell());
    }
  CsvWriter(path, header).rows(lines);
}

std::string six_digits(double value) { return fmt::format("{:.6g}", without_nan_sign(value)); }

}  // namespace learn::cli
