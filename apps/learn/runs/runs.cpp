#include "apps/learn/runs/runs.h"

#include "apps/learn/cli/command.h"
#include "apps/learn/runs/run_comparison.h"
#include "apps/learn/runs/run_listing.h"
#include "apps/learn/runs/run_removal.h"
#include "apps/learn/runs/run_texts.h"
#include "framework/core/console.h"
#include "framework/io/free_space.h"
#include "framework/runs/remove_run.h"
#include "framework/runs/run_list.h"
#include "framework/runs/saved_weights.h"
#include "framework/terminal/progress_bar.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;

void check_options(const RunsOptions& o) {
  if (o.csv && o.json) fail<UsageError>("--csv and --json: one of them, or neither for a table");
  if (o.wide && (o.csv || o.json))
    fail<UsageError>("--wide is for the table; --{} always prints everything",
                     o.csv ? "csv" : "json");
  if (!o.names.empty() && (o.sort || o.reverse || !o.status.empty()))
    fail<UsageError>("--{} is for the list of all runs: omit '{}'",
                     o.sort      ? "sort"
                     : o.reverse ? "reverse"
                                 : "status",
                     o.names.front());
  if (o.remove && o.names.empty()) fail<UsageError>("--remove: name the runs to remove");
  if (o.remove && (o.csv || o.json || o.wide))
    fail<UsageError>("--remove shows no table: leave out --{}",
                     o.csv    ? "csv"
                     : o.json ? "json"
                              : "wide");
  if (o.yes && !o.remove) fail<UsageError>("--yes has no effect without --remove");
  for (const std::string& status : o.status) require_known("status", status, run_statuses());
}

std::size_t table_width(const RunsOptions& o) { return o.wide ? 0 : terminal_width(STDOUT_FILENO); }

int show(const RunsOptions& o, const std::string& out) {
  std::vector<fs::path> paths;
  // Resolves links, because 'latest' is not a separate run.
  for (const std::string& name : o.names)
    paths.push_back(run_folder(anything_named(name, out).string(), out));
  check_named_once(paths);
  std::vector<RunEntry> found;
  for (const fs::path& path : paths) found.push_back(look_at_run(path));
  if (o.csv)
    console::print(runs_csv(found));
  else if (o.json)
    console::print(runs_json(found, true));
  else
    console::print(found.size() == 1 ? show_run(found.front())
                                     : compare_runs(found, table_width(o)));
  return 0;
}

/// Advice if no run can be listed.
std::string advice(const std::string& out, const RunsOptions& o) {
  if (is_run(out)) return fmt::format("'{0}' is a run itself: 'learn runs {0}' shows it\n", out);
  if (!o.status.empty()) return fmt::format("no run in '{}' is {}\n", out, join_or(o.status));
  return fmt::format(
      "no runs in '{}': 'learn train' creates runs, and --out DIR lists another folder\n", out);
}

int list(const RunsOptions& o, const std::string& out) {
  std::error_code ignored;
  RunList all;
  if (fs::is_directory(out, ignored))
    all = list_runs(out);
  else if (o.out)
    fail<UsageError>("--out {}: this folder does not exist", out);
  if (!o.status.empty())
    std::erase_if(all.runs, [&](const RunEntry& run) {
      return std::ranges::count(o.status, run.status) == 0;
    });
  if (!all.runs.empty()) sort_runs(all.runs, o.sort.value_or("started"), o.reverse);
  std::string text;
  if (o.csv) {
    text = runs_csv(all.runs);
  } else if (o.json) {
    text = runs_json(all.runs, false);
  } else if (all.runs.empty()) {
    text = advice(out, o);
  } else {
    std::uint64_t bytes = 0;
    for (const RunEntry& run : all.runs) bytes += run.bytes;
    text = runs_table(all.runs, table_width(o));
    text += fmt::format("\n{} {} in '{}', {}\n",
                        all.runs.size(),
                        all.runs.size() == 1 ? "run" : "runs",
                        out,
                        bytes_text(bytes));
  }
  if (!o.csv && !o.json)
    for (const fs::path& path : all.leftovers)
      text += fmt::format(
          "\n'{0}' remains from an interrupted removal, {1}; 'learn runs --remove {0}' removes "
          "it\n",
          path.string(),
          bytes_text(disk_usage(path)));
  console::print(text);
  return 0;
}

}  // namespace

OptionTable RunsOptions::table() {
  OptionTable t;
  t.group("Options");
  t.text("out", out, "DIR", "folder of all runs").when_absent = "runs";
  t.text("sort",
         sort,
         "KEY",
         "name, started (the newest last), time or size (the largest first), best (the "
         "best first), or a result of the last epoch: valid_loss, accuracy, ...")
      .when_absent = "started";
  t.flag("reverse", reverse, "reverse the order");
  t.list("status",
         status,
         ',',
         "STATUS",
         "only runs with these statuses, separated by commas: running, finished, interrupted, "
         "crashed, diverged, gone, ...");
  t.flag("wide", wide, "show all columns, whatever the width of the terminal");
  t.flag("csv", csv, "comma-separated values");
  t.flag("json", json, "an array of JSON objects, each with the run's record");
  t.flag("remove", remove, "remove the named runs after a confirmation");
  t.flag("yes", yes, "remove without a confirmation").short_name = "y";
  return t;
}

int runs(const RunsOptions& o) {
  check_options(o);
  const std::string out = o.out.value_or("runs");
  if (o.names.empty()) return list(o, out);
  if (!o.remove) return show(o, out);
  std::vector<fs::path> paths;
  for (const std::string& name : o.names) paths.push_back(anything_named(name, out));
  return remove_runs(paths, o.yes);
}

void register_runs(Commands& commands) {
  commands.add<RunsOptions>(
      {.name = "runs",
       .group = Group::runs,
       .place = 0,
       .help = "list, show, compare or remove runs",
       .arguments = {{.name = "RUN",
                      .help = "names in --out or folders, or last: one to show, several to "
                              "compare; none: list all",
                      .several = true}},
       .examples = {{"List all runs, the best first", "learn runs --sort best"},
                    {"Show one run", "learn runs train-3"},
                    {"Remove runs", "learn runs --remove train train-2"}}},
      [](RunsOptions& o, const Parsed& parsed) {
        o.names = parsed.arguments[0];
        return runs(o);
      });
}

}  // namespace learn::cli
