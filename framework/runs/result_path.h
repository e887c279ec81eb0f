#pragma once
#include <filesystem>
#include <vector>

namespace learn {

/// For a command that writes a result to a file of the user's choice. Throws UsageError, before
/// anything is computed, for a file that must not be replaced: one of `sources`, what the result is
/// made of, by whatever name or link; a file in a folder of `sources`; and what belongs to a run:
/// its weights, record, configuration, log and measurements. New files may lie anywhere.
void check_result_path(const std::filesystem::path& target,
                       const std::vector<std::filesystem::path>& sources = {});

}  // namespace learn
