#pragma once
#include <filesystem>
#include <vector>

namespace learn {

/// For commands that write a result to a file of the user's choice. Throws UsageError, before
/// anything is computed, for a file that must not be replaced: one of `sources`, the inputs of the
/// result, under any name or link; a file in a folder of `sources`; and files of a run: its
/// weights, record, configuration, log and measurements. New files may be anywhere.
void check_result_path(const std::filesystem::path& target,
                       const std::vector<std::filesystem::path>& sources = {});

}  // namespace learn
