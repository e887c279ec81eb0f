#pragma once
#include "apps/learn/cli/command_line.h"

#include <string>
#include <vector>

namespace learn::cli {

/// Manual pages in man(7), generated from the declarations of the commands: learn-NAME(1) with all
/// options, and learn(1) with all commands.
[[nodiscard]] std::string command_page(const Command& command, const std::string& version);
[[nodiscard]] std::string program_page(const std::vector<Command>& commands,
                                       const std::string& version);

}  // namespace learn::cli
