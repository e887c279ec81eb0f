#pragma once
#include "apps/learn/cli/command_line.h"

#include <string>
#include <vector>

namespace learn::cli {

/// The commands that tell of all the others. `commands` must outlive what is made, and may hold it.
[[nodiscard]] Command help_command(const std::vector<Command>& commands);
[[nodiscard]] Command man_command(const std::vector<Command>& commands);
[[nodiscard]] Command completion_command();

}  // namespace learn::cli
