#include "apps/learn/runs/run_comparison.h"

#include "apps/learn/runs/run_settings.h"
#include "apps/learn/runs/run_texts.h"
#include "framework/io/free_space.h"
#include "framework/terminal/text_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace learn::cli {
namespace {

using Values = std::vector<std::optional<double>>;

constexpr const char* kUnknown = "?";  ///< of a run whose record or settings cannot be read

struct Row {
  std::string name;
  std::vector<std::string> cells;

  /// Whether two runs differ of which it is known.
  [[nodiscard]] bool differs() const {
    std::set<std::string> known(cells.begin(), cells.end());
    known.erase(kUnknown);
    return known.size() > 1;
  }
};

/// Marks the cells of the best value, if one is better than another.
void mark_best(Row& row, const Values& values, bool lower) {
  std::optional<double> best;
  std::optional<double> worst;
  for (const auto& value : values) {
    if (!value) continue;
    if (!best || (lower ? *value < *best : *value > *best)) best = value;
    if (!worst || (lower ? *value > *worst : *value < *worst)) worst = value;
  }
  if (best == worst) return;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] == best) row.cells[i] += " *";
}

class Comparison {
 public:
  explicit Comparison(const std::vector<RunEntry>& runs) : runs_(runs) {
    std::vector<std::string> names;
    for (const RunEntry& run : runs) names.push_back(cell_text(run.name, kMaxCell));
    const bool ambiguous = std::set(names.begin(), names.end()).size() < names.size();
    for (std::size_t i = 0; i < runs.size(); ++i)
      names_.push_back(ambiguous ? cell_text(runs[i].path.string(), kMaxCell) : names[i]);
    comparable_ = !data_row().differs() && !validation_row().differs();
    add_state();
    add_settings();
    add_results();
    add_surroundings();
    for (Row& row : rows_) {
      if (!row.cells.empty()) row.name = cell_text(row.name, kMaxCell);
      for (std::string& cell : row.cells) cell = cell_text(cell, kMaxCell);
    }
  }

  [[nodiscard]] std::string text(std::size_t width) const {
    std::string text;
    for (std::size_t first = 0; first < runs_.size();) {
      const std::size_t end = last_that_fits(first, width);
      text += (first > 0 ? "\n" : "") + block(first, end);
      first = end;
    }
    return text + notes_;
  }

 private:
  static constexpr std::size_t kMaxCell = 40;

  template <class Text>
  Row row(const std::string& name, Text text_of) const {
    Row row{name, {}};
    for (const RunEntry& run : runs_) {
      const std::string cell = text_of(run);
      row.cells.push_back(cell.empty() ? "-" : cell);
    }
    return row;
  }

  /// Of a record, which is not known of a damaged run.
  template <class Text>
  Row of_record(const std::string& name, Text text_of) const {
    return row(name, [&](const RunEntry& run) {
      return run.problem.empty() ? std::string(text_of(run)) : std::string(kUnknown);
    });
  }

  [[nodiscard]] Row data_row() const {
    return of_record("  data", [](const RunEntry& run) { return run.record.dataset; });
  }
  [[nodiscard]] Row validation_row() const {
    return of_record("  validation images",
                     [](const RunEntry& run) { return grouped(run.record.valid_samples); });
  }

  void add_title(const std::string& title) { rows_.push_back({title, {}}); }

  void add_if_it_differs(const Row& row) {
    if (row.differs()) rows_.push_back(row);
  }

  void add_state() {
    rows_.push_back(row("status", [](const RunEntry& run) { return run.status; }));
    rows_.push_back(of_record("epochs", epochs_text));
    rows_.push_back(
        of_record("started", [](const RunEntry& run) { return moment_text(run.record.started); }));
    rows_.push_back(row("time", [](const RunEntry& run) { return duration_text(run.seconds); }));
    rows_.push_back(row("size", [](const RunEntry& run) { return bytes_text(run.bytes); }));
    for (const RunEntry& run : runs_) {
      if (!run.problem.empty()) note(run, run.problem);
      if (!run.record.error.empty()) note(run, run.record.error);
    }
  }

  void add_settings() {
    std::vector<std::string> order;
    std::map<std::string, std::vector<std::optional<ConfigEntry>>> found;
    std::vector<std::size_t> unknown;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const RunSettings settings = read_settings(runs_[i]);
      if (!settings.problem.empty()) {
        note(runs_[i], "its settings are not known: " + settings.problem);
        unknown.push_back(i);
        continue;
      }
      for (const ConfigEntry& setting : settings.values) {
        const auto [at, is_new] = found.try_emplace(setting.name, runs_.size());
        if (is_new) order.push_back(setting.name);
        at->second[i] = setting;
      }
    }
    add_title("settings that differ");
    const std::size_t before = rows_.size();
    for (const std::string& name : order) add_setting(name, found[name], unknown);
    if (rows_.size() == before)
      rows_.back().name = unknown.empty() ? "settings: all the same"
                                          : "settings: those that are known are the same";
  }

  /// A default is the same as an equal value that was given.
  void add_setting(const std::string& name,
                   const std::vector<std::optional<ConfigEntry>>& of_runs,
                   const std::vector<std::size_t>& unknown) {
    Row values{"  " + name, {}};
    Row shown = values;
    for (const std::optional<ConfigEntry>& setting : of_runs) {
      values.cells.push_back(setting ? setting->text : "-");
      shown.cells.push_back(setting ? setting_text(*setting) : "-");
    }
    for (const std::size_t i : unknown) values.cells[i] = shown.cells[i] = kUnknown;
    if (values.differs()) rows_.push_back(std::move(shown));
  }

  void add_best() {
    std::set<std::string> metrics;
    Values values;
    for (const RunEntry& run : runs_) {
      values.emplace_back();
      if (!run.record.best) continue;
      metrics.insert(run.record.best->metric);
      if (std::isfinite(run.record.best->value)) values.back() = run.record.best->value;
    }
    if (metrics.empty()) return;
    const bool one = metrics.size() == 1;
    Row best = row(one ? "  best " + *metrics.begin() : "  best", [&](const RunEntry& run) {
      if (!run.record.best) return std::string("-");
      const auto& [metric, value, epoch] = *run.record.best;
      return (one ? "" : metric + " ") + number_text(value);
    });
    if (one) mark_best(best, values, lower_is_better(*metrics.begin()));
    rows_.push_back(std::move(best));
    rows_.push_back(row("    in epoch", [](const RunEntry& run) {
      return run.record.best ? fmt::format("{}", run.record.best->epoch) : std::string("-");
    }));
  }

  /// Where results of the runs mean the same.
  void mark_best(Row& row, const Values& values, bool lower) const {
    if (comparable_) cli::mark_best(row, values, lower);
  }

  void add_results() {
    add_title(comparable_ ? "results, * the best; of the last epoch:"
                          : "results, on other validation images each; of the last epoch:");
    const std::size_t before = rows_.size();
    add_best();
    std::set<std::string> names;
    for (const RunEntry& run : runs_)
      for (const auto& [name, value] : run.record.results) names.insert(name);
    for (const std::string& name : names) {
      Values values;
      for (const RunEntry& run : runs_) values.push_back(result_of(run, name));
      Row one =
          row("  " + name, [&](const RunEntry& run) { return number_text(result_of(run, name)); });
      mark_best(one, values, lower_is_better(name));
      rows_.push_back(std::move(one));
    }
    if (rows_.size() == before) rows_.back().name = "results: none yet";
    const auto of_steps = [&](const std::string& name, auto value) {
      return of_record("  " + name, [&](const RunEntry& run) {
        return fmt::format("{}", value(run.record.steps));
      });
    };
    rows_.push_back(of_steps("steps", [](const auto& steps) { return steps.applied; }));
    rows_.push_back(of_record("  peak learning rate",
                              [](const RunEntry& run) { return peak_lr_text(run.record); }));
    add_if_it_differs(of_steps("skipped steps", [](const auto& steps) { return steps.skipped; }));
    add_if_it_differs(of_steps("loss scale", [](const auto& steps) { return steps.loss_scale; }));
  }

  void add_surroundings() {
    std::vector<Row> all{
        of_record("  device", [](const RunEntry& run) { return run.record.device; }),
        of_record("  threads",
                  [](const RunEntry& run) { return fmt::format("{}", run.record.threads); }),
        of_record("  parameters",
                  [](const RunEntry& run) { return grouped(run.record.parameters); }),
        data_row(),
        of_record("  training images",
                  [](const RunEntry& run) { return grouped(run.record.train_samples); }),
        of_record("  their fingerprint",
                  [](const RunEntry& run) { return run.record.fingerprint.substr(0, 16); }),
        validation_row()};
    for (const auto texts : {&RunRecord::machine, &RunRecord::versions}) {
      std::set<std::string> names;
      for (const RunEntry& run : runs_)
        for (const auto& [name, text] : run.record.*texts) names.insert(name);
      for (const std::string& name : names)
        all.push_back(of_record("  " + name, [&](const RunEntry& run) {
          const auto found = (run.record.*texts).find(name);
          return found == (run.record.*texts).end() ? std::string() : found->second;
        }));
    }
    add_title("machine, data and versions that differ");
    const std::size_t before = rows_.size();
    for (const Row& one : all) add_if_it_differs(one);
    if (rows_.size() == before) rows_.back().name = "machine, data and versions: all the same";
    if (!comparable_)
      notes_ += "\nThey were validated on other images: their results do not compare.\n";
  }

  void note(const RunEntry& run, const std::string& what) {
    notes_ += fmt::format("\n{}: {}\n", cell_text(run.name, kMaxCell), cell_text(what, 400));
  }

  /// The end of the runs from `first` on that fit beside each other; at least one does.
  [[nodiscard]] std::size_t last_that_fits(std::size_t first, std::size_t width) const {
    if (width == 0) return runs_.size();
    std::size_t used = 0;
    for (const Row& row : rows_)
      used = std::max(used, row.cells.empty() ? 0 : display_width(row.name));
    for (std::size_t i = first; i < runs_.size(); ++i) {
      std::size_t widest = display_width(names_[i]);
      for (const Row& row : rows_)
        if (!row.cells.empty()) widest = std::max(widest, display_width(row.cells[i]));
      used += 2 + widest;
      if (used > width && i > first) return i;
    }
    return runs_.size();
  }

  /// A table of some of them. Titles stand between its rows, so that they widen no column.
  [[nodiscard]] std::string block(std::size_t first, std::size_t end) const {
    std::vector<TextTable::Column> columns{{""}};
    for (std::size_t i = first; i < end; ++i) columns.push_back({names_[i]});
    TextTable table(std::move(columns));
    for (const Row& row : rows_) {
      std::vector<std::string> cells{row.cells.empty() ? "" : row.name};
      for (std::size_t i = first; i < end && !row.cells.empty(); ++i) cells.push_back(row.cells[i]);
      table.row(std::move(cells));
    }
    const std::string plain = table.to_string();
    std::string text;
    std::size_t at = plain.find('\n') + 1;
    text += plain.substr(0, at);
    for (const Row& row : rows_) {
      const std::size_t next = plain.find('\n', at) + 1;
      text += row.cells.empty() ? "\n" + row.name + "\n" : plain.substr(at, next - at);
      at = next;
    }
    return text;
  }

  const std::vector<RunEntry>& runs_;
  std::vector<std::string> names_;
  std::vector<Row> rows_;  ///< one without cells is a title
  std::string notes_;
  bool comparable_ = true;  ///< all were validated on the same images, as far as that is known
};

}  // namespace

std::string compare_runs(const std::vector<RunEntry>& runs, std::size_t width) {
  return Comparison(runs).text(width);
}

}  // namespace learn::cli
