#include "apps/learn/runs/run_comparison.h"

#include "apps/learn/runs/run_settings.h"
#include "apps/learn/runs/run_table.h"
#include "apps/learn/runs/run_texts.h"
#include "framework/io/free_space.h"
#include "framework/terminal/text_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace learn::cli {
namespace {

using Values = std::vector<std::optional<double>>;

constexpr std::size_t kMaxName = 40;

/// Marks the cells of the best value, if one is better than another.
void mark_best(RunTable::Row& row, const Values& values, bool lower) {
  std::optional<double> best;
  std::optional<double> worst;
  for (const auto& value : values) {
    if (!value) continue;
    if (!best || (lower ? *value < *best : *value > *best)) best = value;
    if (!worst || (lower ? *value > *worst : *value < *worst)) worst = value;
  }
  if (best == worst) return;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] == best) *row.cells[i] += " *";
}

/// Value of a record; unknown for a damaged run.
template <class Text>
auto of_record(Text text_of) {
  return [text_of](const RunEntry& run) {
    return run.problem.empty() ? RunTable::Cell(text_of(run)) : std::nullopt;
  };
}

RunTable without_same(RunTable table) {
  std::erase_if(table.rows, [](const RunTable::Row& row) { return !row.differs(); });
  return table;
}

class Comparison {
 public:
  explicit Comparison(const std::vector<RunEntry>& runs) : runs_(runs) {
    const RunTable all = surroundings();
    comparable_ = !all.row("data").differs() && !all.row("validation images").differs();
    tables_ = {state(), settings(), results(), without_same(all)};
    if (tables_.back().rows.empty())
      tables_.back().title = "machine, data and versions: all the same";
    if (!comparable_)
      notes_ += "\nThey were validated on different images: their results are not comparable.\n";
  }

  [[nodiscard]] std::string text(std::size_t width) const {
    return to_text(tables_, names(), width) + notes_;
  }

 private:
  /// Their paths, if two have the same name.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names, paths;
    for (const RunEntry& run : runs_) {
      names.push_back(cell_text(run.name, kMaxName));
      paths.push_back(cell_text(run.path.string(), kMaxName));
    }
    return std::set(names.begin(), names.end()).size() < names.size() ? paths : names;
  }

  [[nodiscard]] RunTable state() {
    RunTable table;
    table.add("status", runs_, [](const RunEntry& run) { return run.status; });
    table.add("epochs", runs_, of_record(epochs_text));
    table.add("started", runs_, of_record([](const RunEntry& run) {
                return moment_text(run.record.started);
              }));
    table.add("time", runs_, [](const RunEntry& run) { return duration_text(run.seconds); });
    table.add("size", runs_, [](const RunEntry& run) { return bytes_text(run.bytes); });
    for (const RunEntry& run : runs_) {
      if (!run.problem.empty()) note(run, run.problem);
      if (!run.record.error.empty()) note(run, run.record.error);
    }
    return table;
  }

  [[nodiscard]] RunTable settings() {
    std::vector<std::string> order;
    std::map<std::string, std::vector<std::optional<ConfigEntry>>> found;
    std::vector<std::size_t> unknown;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const RunSettings settings = read_settings(runs_[i]);
      if (!settings.problem.empty()) {
        note(runs_[i], "unknown settings: " + settings.problem);
        unknown.push_back(i);
        continue;
      }
      for (const ConfigEntry& setting : settings.values) {
        const auto [at, is_new] = found.try_emplace(setting.name, runs_.size());
        if (is_new) order.push_back(setting.name);
        at->second[i] = setting;
      }
    }
    RunTable table{.title = "settings that differ"};
    for (const std::string& name : order) add_setting(table, name, found[name], unknown);
    if (table.rows.empty())
      table.title =
          unknown.empty() ? "settings: all the same" : "settings: all known ones are the same";
    return table;
  }

  /// A default is the same as an equal value that was given.
  static void add_setting(RunTable& table,
                          const std::string& name,
                          const std::vector<std::optional<ConfigEntry>>& of_runs,
                          const std::vector<std::size_t>& unknown) {
    RunTable::Row values{name, {}};
    RunTable::Row shown = values;
    for (const std::optional<ConfigEntry>& setting : of_runs) {
      values.cells.emplace_back(setting ? setting->text : "-");
      shown.cells.emplace_back(setting ? setting_text(*setting) : "-");
    }
    for (const std::size_t i : unknown) values.cells[i] = shown.cells[i] = std::nullopt;
    if (values.differs()) table.rows.push_back(std::move(shown));
  }

  void add_best(RunTable& table) const {
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
    RunTable::Row& best =
        table.add(one ? "best " + *metrics.begin() : "best", runs_, [&](const RunEntry& run) {
          if (!run.record.best) return std::string();
          const auto& [metric, value, epoch] = *run.record.best;
          return (one ? "" : metric + " ") + number_text(value);
        });
    if (one) mark_best(best, values, lower_is_better(*metrics.begin()));
    table.add("  in epoch", runs_, [](const RunEntry& run) {
      return run.record.best ? fmt::format("{}", run.record.best->epoch) : "";
    });
  }

  /// Whether results of the runs are comparable.
  void mark_best(RunTable::Row& row, const Values& values, bool lower) const {
    if (comparable_) cli::mark_best(row, values, lower);
  }

  [[nodiscard]] RunTable results() const {
    RunTable table{.title = comparable_
                                ? "results of the last epoch, * is the best:"
                                : "results of the last epoch, on different validation images:"};
    add_best(table);
    std::set<std::string> names;
    for (const RunEntry& run : runs_)
      for (const auto& [name, value] : run.record.results) names.insert(name);
    for (const std::string& name : names) {
      Values values;
      for (const RunEntry& run : runs_) values.push_back(result_of(run, name));
      RunTable::Row& row = table.add(
          name, runs_, [&](const RunEntry& run) { return number_text(result_of(run, name)); });
      mark_best(row, values, lower_is_better(name));
    }
    if (table.rows.empty()) table.title = "results: none yet";
    const auto of_steps = [](auto value) {
      return of_record(
          [value](const RunEntry& run) { return fmt::format("{}", run.record.steps.*value); });
    };
    table.add("steps", runs_, of_steps(&RunRecord::Steps::applied));
    table.add("peak learning rate", runs_, of_record([](const RunEntry& run) {
                return peak_lr_text(run.record);
              }));
    RunTable rare;
    rare.add("skipped steps", runs_, of_steps(&RunRecord::Steps::skipped));
    rare.add("loss scale", runs_, of_steps(&RunRecord::Steps::loss_scale));
    for (RunTable::Row& row : without_same(std::move(rare)).rows)
      table.rows.push_back(std::move(row));
    return table;
  }

  [[nodiscard]] RunTable surroundings() const {
    RunTable table{.title = "machine, data and versions that differ"};
    const auto add = [&](const char* name, auto text_of) {
      table.add(
          name, runs_, of_record([text_of](const RunEntry& run) { return text_of(run.record); }));
    };
    add("device", [](const RunRecord& record) { return record.device; });
    add("threads", [](const RunRecord& record) { return fmt::format("{}", record.threads); });
    add("parameters", [](const RunRecord& record) { return grouped(record.parameters); });
    add("data", [](const RunRecord& record) { return record.dataset; });
    add("training images", [](const RunRecord& record) { return grouped(record.train_samples); });
    add("their fingerprint",
        [](const RunRecord& record) { return record.fingerprint.substr(0, 16); });
    add("validation images", [](const RunRecord& record) { return grouped(record.valid_samples); });
    for (const auto texts : {&RunRecord::machine, &RunRecord::versions})
      table.add_keys(runs_, [texts](const RunEntry& run) {
        return run.problem.empty() ? &(run.record.*texts) : nullptr;
      });
    return table;
  }

  void note(const RunEntry& run, const std::string& what) {
    notes_ += fmt::format("\n{}: {}\n", cell_text(run.name, kMaxName), cell_text(what, 400));
  }

  const std::vector<RunEntry>& runs_;
  std::vector<RunTable> tables_;
  std::string notes_;
  bool comparable_ = true;  ///< all were validated on the same images, as far as known
};

}  // namespace

std::string compare_runs(const std::vector<RunEntry>& runs, std::size_t width) {
  return Comparison(runs).text(width);
}

}  // namespace learn::cli
