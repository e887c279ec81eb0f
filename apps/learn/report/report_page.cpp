#include "apps/learn/report/report_page.h"

#include "apps/learn/runs/run_table.h"
#include "apps/learn/runs/run_texts.h"
#include "callbacks/report/training_figures.h"
#include "framework/core/nan_sign.h"
#include "framework/terminal/text_table.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace learn::cli {
namespace {

using Runs = std::span<const RunReport>;

std::string number(double value) {
  return std::isfinite(value) ? number_text(value) : fmt::format("{}", without_nan_sign(value));
}

std::vector<callbacks::RunHistory> histories(Runs runs) {
  std::vector<callbacks::RunHistory> all;
  for (const RunReport& run : runs) all.push_back(run.history);
  return all;
}

/// A column for each run; rows that are empty are left out. `hides_same`: of several runs only what
/// differs is of interest.
html::Table side_by_side(Runs runs, const RunTable& of, bool hides_same) {
  const bool several = runs.size() > 1;
  html::Table table{
      .columns = {{of.title}}, .hides_same = hides_same && several, .pairs = !several};
  for (const RunReport& run : runs) table.columns.push_back({run.history.name});
  for (const RunTable::Row& row : of.rows) {
    std::vector<std::string> cells{row.name};
    for (const RunTable::Cell& cell : row.cells) cells.push_back(cell.value_or(""));
    if (std::all_of(cells.begin() + 1, cells.end(), [](const auto& c) { return c.empty(); }))
      continue;
    table.rows.push_back({std::move(cells), several && !row.differs()});
  }
  return table;
}

double trained_seconds(const RunReport& run) {
  double seconds = 0;
  for (const EpochRecord& epoch : run.history.epochs) seconds += epoch.seconds;
  return seconds;
}

std::string skipped_text(const RunRecord& record) {
  if (record.steps.skipped == 0) return fmt::format("{}, none skipped", record.steps.applied);
  return fmt::format("{}, and {} skipped", record.steps.applied, record.steps.skipped);
}

/// Values of a single run that are neither in `facts` nor in the head of the page.
html::Table outcome(Runs runs) {
  const bool alone = runs.size() == 1;
  RunTable table;
  table.add("status", runs, [](const RunReport& run) {
    return run.record.status + (run.record.error.empty() ? "" : ": " + run.record.error);
  });
  table.add("model", runs, [](const RunReport& run) {
    return fmt::format("{} ({} parameters)", run.record.model, grouped(run.record.parameters));
  });
  table.add("data", runs, [](const RunReport& run) { return data_text(run.record); });
  table.add("precision", runs, [](const RunReport& run) { return run.record.precision; });
  if (!alone) {
    table.add("epochs", runs, [](const RunReport& run) {
      return fmt::format("{} of {}", run.record.epochs_done, run.record.epochs);
    });
    table.add("best", runs, [](const RunReport& run) { return best_text(run.record); });
  }
  std::set<std::string> results;
  for (const RunReport& run : runs)
    for (const auto& [name, value] : run.record.results) results.insert(name);
  for (const char* const elsewhere : {"seconds", "samples_per_second"}) results.erase(elsewhere);
  if (alone)
    for (const char* const fact : {"valid_loss", "train_loss"}) results.erase(fact);
  for (const std::string& name : results)
    table.add("last " + name, runs, [&](const RunReport& run) {
      const auto at = run.record.results.find(name);
      return at == run.record.results.end() ? "" : number(at->second);
    });
  if (!alone) {
    table.add("training time", runs, [](const RunReport& run) {
      return clock_text(trained_seconds(run));
    });
    table.add("images per second", runs, [](const RunReport& run) {
      return run.history.epochs.empty() ? "" : number(run.history.epochs.back().samples_per_second);
    });
    table.add(
        "started", runs, [](const RunReport& run) { return moment_text(run.record.started); });
    table.add("ended", runs, [](const RunReport& run) { return moment_text(run.record.ended); });
  }
  table.add("steps", runs, [](const RunReport& run) { return skipped_text(run.record); });
  table.add(
      "peak learning rate", runs, [](const RunReport& run) { return peak_lr_text(run.record); });
  return side_by_side(runs, table, false);
}

/// Top of the page of a single run.
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
      section.blocks.emplace_back(
          html::Note{fmt::format("{}: the images of {} are computed, not photographed; results on "
                                 "them say nothing about real images.",
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

/// Blocks of each run, under its name if there are several. Without blocks, the section is omitted.
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
      section.blocks.emplace_back(html::Note{"Identical to " + runs[0].history.name + "."});
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

/// Values of one run next to the defaults.
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
  RunTable table{.title = "option"};
  for (std::size_t i = 0; i < runs[0].settings.size(); ++i)
    table.add(runs[0].settings[i].name, runs, [i](const RunReport& run) {
      return run.settings[i].value;
    });
  section.blocks.emplace_back(side_by_side(runs, table, true));
  return section;
}

html::Section machine(Runs runs) {
  RunTable table;
  table.add("device", runs, [](const RunReport& run) { return run.record.device; });
  table.add(
      "threads", runs, [](const RunReport& run) { return fmt::format("{}", run.record.threads); });
  table.add_keys(runs, [](const RunReport& run) { return &run.record.machine; });
  table.add_keys(runs, [](const RunReport& run) { return &run.record.versions; });
  table.add("seed", runs, [](const RunReport& run) { return fmt::format("{}", run.record.seed); });
  table.add("data fingerprint", runs, [](const RunReport& run) { return run.record.fingerprint; });
  return {"Machine", {side_by_side(runs, table, true)}};
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
