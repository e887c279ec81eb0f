#pragma once
#include "framework/runs/run_list.h"

#include <cstddef>
#include <string>
#include <vector>

namespace learn::cli {

/// Sorts by name, started (the oldest first), best (of a metric, the best first), time, size (the
/// largest first) or a result of the last epoch (the best first); `reverse` turns that around.
/// Runs without such a value come last either way. Throws UsageError if no run has it.
void sort_runs(std::vector<RunEntry>& runs, const std::string& key, bool reverse);

/// Returns a table of runs in at most `width` columns, if possible: the least important columns are
/// shortened or omitted, and omitted ones are listed below, as are the faults of damaged runs. A
/// width of 0 omits nothing.
[[nodiscard]] std::string runs_table(const std::vector<RunEntry>& runs, std::size_t width);

/// Output for programs, with all columns: comma-separated values with a header.
[[nodiscard]] std::string runs_csv(const std::vector<RunEntry>& runs);
/// An array of objects: name, path, status, time, size, and "record", which is run.json, or
/// "problem"; with `settings`, those of config.toml, and the names of those that are defaults.
[[nodiscard]] std::string runs_json(const std::vector<RunEntry>& runs, bool settings);

}  // namespace learn::cli
