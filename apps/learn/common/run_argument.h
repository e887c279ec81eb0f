#pragma once
#include "framework/core/options/option_table.h"

#include <filesystem>
#include <optional>
#include <string>

namespace learn::cli {

/// Help of an argument that is a run or a checkpoint.
inline constexpr const char* kRunHelp =
    "name of a run in --out, its folder, last (the latest one there), or a .safetensors file";

/// Declares `--out` of commands that take a run by its name.
void declare_runs_folder(OptionTable& table, std::optional<std::string>& out);

/// Returns the run or file of `name`, as `run_folder` does. Throws the same errors, and UsageError
/// if `out` is given and `name` is a path.
[[nodiscard]] std::filesystem::path run_argument(const std::string& name,
                                                 const std::optional<std::string>& out);

}  // namespace learn::cli
