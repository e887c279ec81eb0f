#pragma once
#include "framework/runs/run_list.h"

#include <cstddef>
#include <string>
#include <vector>

namespace learn::cli {

/// All information about one run, including its settings.
[[nodiscard]] std::string show_run(const RunEntry& run);

/// Compares runs, with a column for each: how they ended, the settings that differ, their results
/// with the best of each marked, and differences of machine, data and versions. If `width` columns
/// are too few for all of them, prints several tables below each other; a width of 0 means
/// unlimited.
[[nodiscard]] std::string compare_runs(const std::vector<RunEntry>& runs, std::size_t width);

}  // namespace learn::cli
