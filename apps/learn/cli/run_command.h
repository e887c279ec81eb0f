#pragma once
#include "apps/learn/cli/command_line.h"

#include <memory>
#include <string>
#include <vector>

namespace learn::cli {

/// All commands, as the help shows them. `argv` is that of the call, which a run records. Those
/// that explain the others refer to this vector.
[[nodiscard]] std::unique_ptr<const std::vector<Command>> all_commands(
    const std::vector<std::string>& argv);

/// The whole program: `argv` without its first word. Prints errors and returns the exit code of
/// framework/core/error.h, or 128 + n after signal n. Throws nothing.
int run_command(const std::vector<std::string>& argv) noexcept;

}  // namespace learn::cli
