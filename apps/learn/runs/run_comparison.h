#pragma once
#include "framework/runs/run_list.h"

#include <cstddef>
#include <string>
#include <vector>

namespace learn::cli {

/// All that is known about one run, its settings included.
[[nodiscard]] std::string show_run(const RunEntry& run);

/// Runs side by side, a column for each: how they ended, the settings that differ, their results
/// with the best of each marked, and where machine, data and versions differ. If `width` columns
/// are too few for all of them, several tables below each other; a width of 0 is no limit.
[[nodiscard]] std::string compare_runs(const std::vector<RunEntry>& runs, std::size_t width);

}  // namespace learn::cli
