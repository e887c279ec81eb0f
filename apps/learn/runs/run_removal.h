#pragma once
#include <filesystem>
#include <vector>

namespace learn::cli {

/// Removes all of the runs, or none if one of them cannot be removed. Unless `yes`, shows them and
/// asks on the terminal; if the answer is no, nothing is removed. Throws UsageError for a folder
/// that is not a run, for a run in training, and if it cannot ask on a terminal; IoError.
int remove_runs(const std::vector<std::filesystem::path>& runs, bool yes);

}  // namespace learn::cli
