#pragma once
#include <filesystem>
#include <vector>

namespace learn::cli {

/// Removes runs, all or, where one of them cannot be, none. Unless `yes`, shows them and asks on
/// the terminal; if the answer is no, nothing is removed. Throws UsageError for what is no run or
/// is trained at the moment, and if there is no terminal to ask on; IoError.
int remove_runs(const std::vector<std::filesystem::path>& runs, bool yes);

}  // namespace learn::cli
