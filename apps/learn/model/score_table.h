#pragma once
#include "framework/html/page.h"
#include "framework/terminal/text_table.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace learn::cli {

/// Scores of each class, label or value and their means, for all that shows them.
struct ScoreTable {
  enum class Digits : std::uint8_t { count, share, number };
  struct Column {
    std::string title;  ///< for readers: "F1"
    std::string key;    ///< for programs: "f1"
    Digits digits = Digits::share;
  };
  struct Score {
    std::optional<double> value;  ///< nothing where a mean does not have it
    bool of_nothing = false;      ///< a share of nothing, which files and pages may show as 0
  };
  struct Row {
    std::string name;
    std::vector<Score> scores = {};
    std::string text_name = "";  ///< in the terminal, if it is another: "(mean of the labels)"
  };

  std::string what;  ///< "label"
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<Row> means = {};
};

/// The columns and cells of a table for the terminal, a dash for a share of nothing.
[[nodiscard]] std::vector<TextTable::Column> text_columns(const ScoreTable& table);
[[nodiscard]] std::vector<std::string> text_cells(const ScoreTable& table,
                                                  const ScoreTable::Row& row);
[[nodiscard]] std::string to_text(const ScoreTable& table);
[[nodiscard]] html::Table page_table(const ScoreTable& table, bool dashes);
/// The scores of a row by their keys, null for a share of nothing.
[[nodiscard]] nlohmann::ordered_json to_json(const ScoreTable& table, const ScoreTable::Row& row);
/// Writes them as comma-separated values. Throws IoError.
void save_csv(const ScoreTable& table, const std::filesystem::path& path);

/// In the targets' unit, six digits.
[[nodiscard]] std::string six_digits(double value);

}  // namespace learn::cli
