#include "apps/learn/runs/run_listing.h"

#include "apps/learn/runs/run_texts.h"
#include "framework/core/error.h"
#include "framework/core/options/suggest.h"
#include "framework/io/free_space.h"
#include "framework/terminal/text_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace learn::cli {
namespace {

using Align = TextTable::Align;

struct Column {
  std::string title;
  Align align = Align::left;
  std::vector<std::string> cells{};
  bool shown = true;
  std::string note{};  ///< of one that is left out

  [[nodiscard]] std::size_t width() const {
    std::size_t widest = display_width(title);
    for (const std::string& cell : cells) widest = std::max(widest, display_width(cell));
    return widest;
  }
  [[nodiscard]] bool all_equal() const {
    return cells.size() > 1 && std::ranges::all_of(cells, [&](const std::string& cell) {
             return cell == cells.front();
           });
  }
};

/// The metric that all runs with a best epoch have that of; empty if they differ.
std::string common_metric(const std::vector<RunEntry>& runs) {
  std::set<std::string> metrics;
  for (const RunEntry& run : runs)
    if (run.record.best) metrics.insert(run.record.best->metric);
  return metrics.size() == 1 ? *metrics.begin() : std::string();
}

std::string best_text(const RunEntry& run, bool with_metric) {
  if (!run.record.best) return "-";
  const auto& [metric, value, epoch] = *run.record.best;
  return with_metric ? fmt::format("{} {}", metric, number_text(value)) : number_text(value);
}

class Listing {
 public:
  explicit Listing(const std::vector<RunEntry>& runs) : runs_(runs) {
    const std::string metric = common_metric(runs);
    add("name", Align::left, [](const RunEntry& run) { return run.name; });
    add("status", Align::left, [](const RunEntry& run) { return run.status; });
    add("model", Align::left, [](const RunEntry& run) { return run.record.model; });
    add("data", Align::left, [](const RunEntry& run) { return run.record.dataset; });
    add("precision", Align::left, [](const RunEntry& run) { return run.record.precision; });
    add("epochs", Align::right, epochs_text);
    add(metric.empty() ? "best" : "best " + metric, Align::right, [&](const RunEntry& run) {
      return best_text(run, metric.empty());
    });
    best_ = columns_.back().title;
    add("valid_loss", Align::right, [](const RunEntry& run) {
      return number_text(result_of(run, "valid_loss"));
    });
    add("peak lr", Align::right, [](const RunEntry& run) { return peak_lr_text(run.record); });
    add("started", Align::left, [](const RunEntry& run) {
      return moment_text(run.record.started);
    });
    add("time", Align::right, [](const RunEntry& run) { return duration_text(run.seconds); });
    add("size", Align::right, [](const RunEntry& run) { return bytes_text(run.bytes); });
  }

  /// Gives up what matters least, step by step, until it fits.
  void fit(std::size_t width) {
    const std::vector<std::function<void()>> steps{[&] { drop_equal("data"); },
                                                   [&] { drop_equal("precision"); },
                                                   [&] { shorten_started(); },
                                                   [&] { drop_equal("model"); },
                                                   [&] { drop_equal("peak lr"); },
                                                   [&] { drop("size"); },
                                                   [&] { drop("data"); },
                                                   [&] { shorten("model", 14); },
                                                   [&] { drop("precision"); },
                                                   [&] { shorten("name", 24); },
                                                   [&] { shorten(best_, 20); },
                                                   [&] { drop("time"); },
                                                   [&] { drop("peak lr"); },
                                                   [&] { drop("model"); },
                                                   [&] { drop("valid_loss"); },
                                                   [&] { shorten("name", 12); },
                                                   [&] { drop("started"); }};
    for (const auto& step : steps) {
      if (this->width() <= width) break;
      step();
    }
    // After removing a wide column, a narrow one may fit.
    for (const char* const title :
         {"started", "valid_loss", "model", "time", "peak lr", "precision", "data", "size"}) {
      Column& column = at(title);
      const bool was_shown = std::exchange(column.shown, true);
      column.shown = was_shown || this->width() <= width;
    }
  }

  [[nodiscard]] std::string text() const {
    std::vector<TextTable::Column> titles;
    std::vector<std::string> left_out;
    for (const Column& column : columns_)
      if (column.shown)
        titles.push_back({column.title, column.align});
      else
        left_out.push_back(column.title + column.note);
    TextTable table(std::move(titles));
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      std::vector<std::string> row;
      for (const Column& column : columns_)
        if (column.shown) row.push_back(column.cells[i]);
      table.row(std::move(row));
    }
    std::string text = table.to_string();
    if (!left_out.empty())
      text += fmt::format("\nnot shown: {}; --wide shows all\n", join(left_out));
    return text;
  }

 private:
  template <class Text>
  void add(const std::string& title, Align align, Text text_of) {
    Column column{title, align};
    for (const RunEntry& run : runs_) {
      // For a damaged run only the files on disk are known.
      const bool known = run.problem.empty() || title == "name" || title == "status" ||
                         title == "time" || title == "size";
      const std::string cell = known ? cell_text(text_of(run)) : "-";
      column.cells.push_back(cell.empty() ? "-" : cell);
    }
    columns_.push_back(std::move(column));
  }

  [[nodiscard]] std::size_t width() const {
    std::size_t sum = 0;
    for (const Column& column : columns_) sum += column.shown ? column.width() + 2 : 0;
    return sum - 2;
  }

  [[nodiscard]] Column& at(const std::string& title) {
    return *std::ranges::find(columns_, title, &Column::title);
  }

  void drop(const std::string& title) { at(title).shown = false; }

  /// A value that all runs share is printed once.
  void drop_equal(const std::string& title) {
    Column& column = at(title);
    if (!column.all_equal()) return;
    column.shown = false;
    column.note = fmt::format(" ({} for all)", column.cells.front());
  }

  void shorten(const std::string& title, std::size_t width) {
    for (std::string& cell : at(title).cells) cell = cell_text(cell, width);
  }

  void shorten_started() {
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (runs_[i].problem.empty())
        at("started").cells[i] = moment_text(runs_[i].record.started, true);
  }

  const std::vector<RunEntry>& runs_;
  std::vector<Column> columns_;
  std::string best_;  ///< title of that column
};

const std::vector<std::string>& fixed_keys() {
  static const std::vector<std::string> keys{"name", "started", "best", "time", "size"};
  return keys;
}

/// Sort key of a run; runs without a number come last.
struct SortKey {
  std::string text;
  std::optional<double> number;  ///< the smallest first
};

SortKey key_of(const RunEntry& run, const std::string& key) {
  const auto ranked = [](const std::string& metric, double value) {
    return lower_is_better(metric) ? value : -value;
  };
  if (key == "started")
    return {run.record.started, run.record.started.empty() ? std::nullopt : std::optional(0.0)};
  if (key == "best" && run.record.best)
    return {run.record.best->metric, ranked(run.record.best->metric, run.record.best->value)};
  if (key == "time" && run.seconds) return {{}, -*run.seconds};
  if (key == "size") return {{}, -static_cast<double>(run.bytes)};
  if (std::ranges::count(fixed_keys(), key) == 0)
    if (const auto value = result_of(run, key)) return {{}, ranked(key, *value)};
  return {};
}

void check_key(const std::vector<RunEntry>& runs, const std::string& key) {
  std::vector<std::string> known = fixed_keys();
  std::set<std::string> results;
  for (const RunEntry& run : runs)
    for (const auto& [name, value] : run.record.results) results.insert(name);
  known.insert(known.end(), results.begin(), results.end());
  if (std::ranges::count(known, key) > 0) return;
  fail<UsageError>(
      "--sort {}: no run has that{}; there is {}", key, did_you_mean(key, known), join(known));
}

}  // namespace

void sort_runs(std::vector<RunEntry>& runs, const std::string& key, bool reverse) {
  check_key(runs, key);
  std::ranges::stable_sort(runs, comes_before, &RunEntry::name);
  if (key == "name") {
    if (reverse) std::ranges::reverse(runs);
    return;
  }
  std::ranges::stable_sort(runs, [&](const RunEntry& one, const RunEntry& other) {
    SortKey a = key_of(one, key);
    SortKey b = key_of(other, key);
    if (a.number.has_value() != b.number.has_value()) return a.number.has_value();
    if (reverse) std::swap(a, b);
    return std::pair(a.text, a.number) < std::pair(b.text, b.number);
  });
}

std::string runs_table(const std::vector<RunEntry>& runs, std::size_t width) {
  Listing listing(runs);
  if (width > 0) listing.fit(width);
  std::string text = listing.text();
  for (const RunEntry& run : runs)
    if (!run.problem.empty())
      text += fmt::format("\n{}: {}\n", run.name, cell_text(run.problem, 400));
  return text;
}

}  // namespace learn::cli
