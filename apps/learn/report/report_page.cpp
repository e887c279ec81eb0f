#include "apps/learn/report/report_page.h"

#include "apps/learn/runs/run_texts.h"
#include "callbacks/report/training_figures.h"
#include "framework/core/function_ref.h"
#include "framework/core/nan_sign.h"
#include "framework/terminal/text_table.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace learn::cli {
namespace {

using Runs = std::span<const RunReport>;
using Value = FunctionRef<std::string(const RunReport&)>;

std::string number(double value) {
  return std::isfinite(value) ? number_text(value) : fmt::format("{}", without_nan_sign(value));
}

std::vector<callbacks::RunHistory> histories(Runs runs) {
  std::vector<callbacks::RunHistory> all;
  for (const RunReport& run : runs) all.push_back(run.history);
  return all;
}

/// A row for each thing, a column for each run; empty rows are left out.
class SideBySide {
 public:
  /// `hides_same`: of several runs only what differs is of interest.
  SideBySide(Runs runs, const std::string& what, bool hides_same) : runs_(runs) {
    table_.columns.push_back({what});
    for (const RunReport& run : runs) table_.columns.push_back({run.history.name});
    table_.hides_same = hides_same && runs.size() > 1;
  }
  void row(const std::string& name, Value value) {
    html::Table::Row row{{name}};
    for (const RunReport& run : runs_) row.cells.push_back(value(run));
    const auto first = row.cells.begin() + 1;
    if (std::all_of(first, row.cells.end(), [](const auto& cell) { return cell.empty(); })) return;
    row.same = runs_.size() > 1 &&
               std::adjacent_find(first, row.cells.end(), std::not_equal_to<>()) == row.cells.end();
    table_.rows.push_back(std::move(row));
  }
  /// A row for each key that a run has.
  void rows(FunctionRef<const std::map<std::string, std::string>&(const RunReport&)> values) {
    std::set<std::string> keys;
    for (const RunReport& run : runs_)
      for (const auto& [key, value] : values(run)) keys.insert(key);
    for (const std::string& key : keys)
      row(key, [&](const RunReport& run) {
        const auto at = values(run).find(key);
        return at == values(run).end() ? std::string() : at->second;
      });
  }
  [[nodiscard]] html::Table table() && {
    table_.pairs = runs_.size() == 1;
    return std::move(table_);
  }

 private:
  Runs runs_;
  html::Table table_;
};

double trained_seconds(const RunReport& run) {
  double seconds = 0;
  for (const EpochRecord& epoch : run.history.epochs) seconds += epoch.seconds;
  return seconds;
}

std::string skipped_text(const RunRecord& record) {
  if (record.steps.skipped == 0) return fmt::format("{}, none skipped", record.steps.applied);
  return fmt::format("{}, and {} skipped", record.steps.applied, record.steps.skipped);
}

/// Of a single run what neither `facts` nor the head of the page say.
html::Table outcome(Runs runs) {
  const bool alone = runs.size() == 1;
  SideBySide table(runs, "", false);
  table.row("status", [](const RunReport& run) {
    return run.record.status + (run.record.error.empty() ? "" : ": " + run.record.error);
  });
  table.row("model", [](const RunReport& run) {
    return fmt::format("{} ({} parameters)", run.record.model, grouped(run.record.parameters));
  });
  table.row("data", [](const RunReport& run) { return data_text(run.record); });
  table.row("precision", [](const RunReport& run) { return run.record.precision; });
  if (!alone) {
    table.row("epochs", [](const RunReport& run) {
      return fmt::format("{} of {}", run.record.epochs_done, run.record.epochs);
    });
    table.row("best", [](const RunReport& run) { return best_text(run.record); });
  }
  std::set<std::string> results;
  for (const RunReport& run : runs)
    for (const auto& [name, value] : run.record.results) results.insert(name);
  for (const char* const elsewhere : {"seconds", "samples_per_second"}) results.erase(elsewhere);
  if (alone)
    for (const char* const fact : {"valid_loss", "train_loss"}) results.erase(fact);
  for (const std::string& name : results)
    table.row("last " + name, [&](const RunReport& run) {
      const auto at = run.record.results.find(name);
      return at == run.record.results.end() ? "" : number(at->second);
    });
  if (!alone) {
    table.row("training time",
              [](const RunReport& run) { return clock_text(trained_seconds(run)); });
    table.row("images per second", [](const RunReport& run) {
      return run.history.epochs.empty() ? "" : number(run.history.epochs.back().samples_per_second);
    });
    table.row("started", [](const RunReport& run) { return moment_text(run.record.started); });
    table.row("ended", [](const RunReport& run) { return moment_text(run.record.ended); });
  }
  table.row("steps", [](const RunReport& run) { return skipped_text(run.record); });
  table.row("peak learning rate", [](const RunReport& run) { return peak_lr_text(run.record); });
  return std::move(table).table();
}

/// What is seen first of a single run.
html::Facts facts(const RunReport& run) {
  const RunRecord& r = run.record;
  html::Facts facts;
  if (r.best)
    facts.facts.push_back(
        {"best " + r.best->metric, number(r.best->value), fmt::format("epoch {}", r.best->epoch)});
  const auto result = [&](const char* name, const char* title) {
    const auto at = r.results.find(name);
    if (at != r.results.end()) facts.facts.push_back({title, number(at->second), "last epoch"});
  };
  result("valid_loss", "validation loss");
  result("train_loss", "training loss");
  facts.facts.push_back({"epochs", fmt::format("{} of {}", r.epochs_done, r.epochs), r.status});
  facts.facts.push_back({"training time",
                         clock_text(trained_seconds(run)),
                         run.history.epochs.empty()
                             ? ""
                             : number(run.history.epochs.back().samples_per_second) + " images/s"});
  return facts;
}

html::Section summary(Runs runs) {
  html::Section section{"Summary", {}};
  if (runs.size() == 1) section.blocks.emplace_back(facts(runs[0]));
  for (const RunReport& run : runs)
    if (run.record.synthetic)
      section.blocks.emplace_back(html::Note{
          fmt::format(
              "{}: the images of {} are computed, not photographed; what is reached on them "
              "says nothing about real ones.",
              run.history.name,
              run.record.dataset),
          true});
  section.blocks.emplace_back(outcome(runs));
  return section;
}

/// Skips and growths of the loss scale, the newest last.
void add_scale_events(const RunReport& run, html::Section& section) {
  if (run.record.steps.records.empty()) return;
  html::Table table{
      .columns = {{"batch", true}, {"event"}, {"loss scale before", true}, {"after", true}},
      .rows = {}};
  for (const RunRecord::Steps::Record& step : run.record.steps.records)
    table.rows.push_back({{fmt::format("{}", step.batch),
                           step.event,
                           fmt::format("{}", step.scale_before),
                           fmt::format("{}", step.scale_after)}});
  section.blocks.emplace_back(
      html::Heading{run.history.name + ": skipped steps and moves of the loss scale"});
  section.blocks.emplace_back(std::move(table));
}

html::Section schedule(Runs runs) {
  html::Section section{"Schedule", {callbacks::schedule_figure("", histories(runs))}};
  for (const RunReport& run : runs) add_scale_events(run, section);
  return section;
}

/// The blocks of each run, under its name if there are several. No section if there are none.
void add_of_each(Runs runs,
                 const char* title,
                 const std::vector<html::Block> RunReport::*blocks,
                 html::Page& page) {
  html::Section section{title, {}};
  for (const RunReport& run : runs) {
    const std::vector<html::Block>& own = run.*blocks;
    if (own.empty()) continue;
    if (runs.size() > 1) section.blocks.emplace_back(html::Heading{run.history.name});
    section.blocks.insert(section.blocks.end(), own.begin(), own.end());
  }
  if (!section.blocks.empty()) page.sections.push_back(std::move(section));
}

html::Table layer_table(const nn::Summary& summary) {
  html::Table table;
  for (const char* const title : nn::kLayerColumns)
    table.columns.push_back({title, std::string_view(title) == "parameters"});
  for (const nn::LayerRow& row : summary.layers) table.rows.push_back({{row.begin(), row.end()}});
  return table;
}

html::Section layers(Runs runs) {
  html::Section section{"Layers", {}};
  for (const RunReport& run : runs) {
    if (runs.size() > 1) section.blocks.emplace_back(html::Heading{run.history.name});
    if (&run != runs.data() && run.layers.layers == runs[0].layers.layers &&
        run.layers.totals == runs[0].layers.totals) {
      section.blocks.emplace_back(html::Note{"The same as those of " + runs[0].history.name + "."});
      continue;
    }
    section.blocks.emplace_back(layer_table(run.layers));
    std::string_view totals = run.layers.totals;
    while (!totals.empty()) {
      const std::size_t end = std::min(totals.find('\n'), totals.size());
      if (end > 0) section.blocks.emplace_back(html::Note{std::string(totals.substr(0, end))});
      totals.remove_prefix(std::min(end + 1, totals.size()));
    }
  }
  return section;
}

/// Of one run beside the defaults.
html::Table settings_of(const RunReport& run) {
  html::Table table{.columns = {{"option"}, {"value"}, {"default"}}, .hides_same = true};
  for (const RunReport::Setting& setting : run.settings)
    table.rows.push_back(
        {{setting.name, setting.value, setting.usual}, setting.value == setting.usual});
  return table;
}

html::Section settings(Runs runs) {
  html::Section section{"Settings", {}};
  if (runs.size() == 1) {
    section.blocks.emplace_back(settings_of(runs[0]));
    return section;
  }
  SideBySide table(runs, "option", true);
  for (std::size_t i = 0; i < runs[0].settings.size(); ++i)
    table.row(runs[0].settings[i].name,
              [i](const RunReport& run) { return run.settings[i].value; });
  section.blocks.emplace_back(std::move(table).table());
  return section;
}

html::Section machine(Runs runs) {
  SideBySide table(runs, "", true);
  table.row("device", [](const RunReport& run) { return run.record.device; });
  table.row("threads", [](const RunReport& run) { return fmt::format("{}", run.record.threads); });
  table.rows([](const RunReport& run) -> const auto& { return run.record.machine; });
  table.rows([](const RunReport& run) -> const auto& { return run.record.versions; });
  table.row("seed", [](const RunReport& run) { return fmt::format("{}", run.record.seed); });
  table.row("data fingerprint", [](const RunReport& run) { return run.record.fingerprint; });
  return {"Machine", {std::move(table).table()}};
}

}  // namespace

html::Page report_page(Runs runs) {
  std::vector<std::string> names;
  for (const RunReport& run : runs) names.push_back(run.history.name);
  html::Page page{.title = join(names, ", ")};
  if (runs.size() == 1) {
    const RunRecord& record = runs[0].record;
    page.subtitle = fmt::format("{} on {}", record.model, data_text(record));
    page.details = {fmt::format("started {}{}",
                                moment_text(record.started),
                                record.ended.empty() ? "" : ", ended " + moment_text(record.ended)),
                    command_text(record.argv)};
  } else {
    for (const RunReport& run : runs)
      page.details.push_back(run.history.name + ": " + command_text(run.record.argv));
  }
  page.sections.push_back(summary(runs));
  page.sections.push_back({"Curves", {callbacks::results_figure("", histories(runs))}});
  page.sections.push_back(schedule(runs));
  add_of_each(runs, "Evaluation", &RunReport::evaluation, page);
  add_of_each(runs, "Images", &RunReport::images, page);
  page.sections.push_back(layers(runs));
  page.sections.push_back(settings(runs));
  page.sections.push_back(machine(runs));
  return page;
}

}  // namespace learn::cli
