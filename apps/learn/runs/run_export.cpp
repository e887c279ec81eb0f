// Runs for programs: the other half of run_listing.h.
#include "apps/learn/runs/run_listing.h"
#include "apps/learn/runs/run_settings.h"
#include "framework/io/csv.h"
#include "framework/io/json_text.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <set>

namespace learn::cli {
namespace {

using Json = nlohmann::ordered_json;

Cell cell(double value) { return std::isfinite(value) ? Cell(value) : Cell(); }
/// Whole, where a number would be rounded.
Cell whole(std::uint64_t value) { return fmt::format("{}", value); }

std::vector<Cell> csv_row(const RunEntry& run, const std::set<std::string>& results) {
  const RunRecord& record = run.record;
  const bool known = run.problem.empty();
  std::vector<Cell> row{run.name, run.path.string(), run.status};
  if (known)
    row.insert(row.end(),
               {record.model,
                record.dataset,
                record.precision,
                record.peak_lr > 0 ? cell(record.peak_lr) : Cell(),
                whole(static_cast<std::uint64_t>(record.epochs_done)),
                whole(static_cast<std::uint64_t>(record.epochs))});
  else
    row.resize(row.size() + 6);
  if (record.best)
    row.insert(row.end(),
               {record.best->metric,
                cell(record.best->value),
                whole(static_cast<std::uint64_t>(record.best->epoch))});
  else
    row.resize(row.size() + 3);
  for (const std::string& name : results) {
    const auto found = record.results.find(name);
    row.push_back(found == record.results.end() ? Cell() : cell(found->second));
  }
  row.insert(row.end(),
             {record.started,
              record.ended,
              run.seconds ? Cell(*run.seconds) : Cell(),
              whole(run.bytes),
              known ? record.error : run.problem});
  return row;
}

}  // namespace

std::string runs_csv(const std::vector<RunEntry>& runs) {
  std::set<std::string> results;
  for (const RunEntry& run : runs)
    for (const auto& [name, value] : run.record.results) results.insert(name);
  std::vector<Cell> header{"name",
                           "path",
                           "status",
                           "model",
                           "data",
                           "precision",
                           "peak_lr",
                           "epochs_done",
                           "epochs",
                           "best_metric",
                           "best_value",
                           "best_epoch"};
  for (const std::string& name : results) header.emplace_back(name);
  for (const char* const name : {"started", "ended", "time", "size", "error"})
    header.emplace_back(std::string(name));
  std::string text = csv_line(header);
  for (const RunEntry& run : runs) text += csv_line(csv_row(run, results));
  return text;
}

std::string runs_json(const std::vector<RunEntry>& runs, bool settings) {
  std::string text;
  for (const RunEntry& run : runs) {
    Json object{{"name", run.name},
                {"path", run.path.string()},
                {"status", run.status},
                {"time", run.seconds ? Json(*run.seconds) : Json(nullptr)},
                {"size", run.bytes}};
    if (run.problem.empty())
      object["record"] = Json::parse(run_record_text(run.record));
    else
      object["problem"] = run.problem;
    if (settings) {
      const RunSettings all = read_settings(run);
      if (all.problem.empty())
        object.update({{"settings", Json::object()}, {"defaults", Json::array()}});
      for (const ConfigEntry& setting : all.values) {
        object["settings"][setting.name] = setting.text;
        if (setting.by_default) object["defaults"].push_back(setting.name);
      }
    }
    text += text.empty() ? "[\n  " : ",\n  ";
    text += json_text(object);
  }
  return text.empty() ? "[]\n" : text + "\n]\n";
}

}  // namespace learn::cli
