#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace learn::cli {

/// Several runs side by side: named rows with a cell for each run.
struct RunTable {
  /// Empty if unknown for a run.
  using Cell = std::optional<std::string>;
  struct Row {
    std::string name;
    std::vector<Cell> cells;

    /// Whether two of the known cells differ.
    [[nodiscard]] bool differs() const;
  };

  std::string title = "";
  std::vector<Row> rows = {};

  /// Adds a row of what `cell_of` returns for each run.
  template <class Runs, class CellOf>
  Row& add(std::string name, const Runs& runs, CellOf cell_of) {
    Row& row = rows.emplace_back(Row{std::move(name), {}});
    for (const auto& run : runs) row.cells.emplace_back(cell_of(run));
    return row;
  }
  /// Adds a row for each key that a run has in its map of texts, which is null if unknown.
  template <class Runs, class MapOf>
  void add_keys(const Runs& runs, MapOf map_of) {
    std::set<std::string> keys;
    for (const auto& run : runs)
      if (const auto* const texts = map_of(run))
        for (const auto& [key, text] : *texts) keys.insert(key);
    for (const std::string& key : keys)
      add(key, runs, [&](const auto& run) {
        const std::map<std::string, std::string>* const texts = map_of(run);
        if (texts == nullptr) return Cell();
        const auto found = texts->find(key);
        return Cell(found == texts->end() ? "" : found->second);
      });
  }
  /// Throws std::logic_error if there is no row of this name.
  [[nodiscard]] const Row& row(std::string_view name) const;
};

/// Returns the tables below each other as text, with a column for each of these runs. If `width`
/// columns are too few for all runs, there are several blocks of tables; a width of 0 means
/// unlimited. An empty cell is "-", an unknown one "?".
[[nodiscard]] std::string to_text(std::span<const RunTable> tables,
                                  const std::vector<std::string>& runs,
                                  std::size_t width);

}  // namespace learn::cli
