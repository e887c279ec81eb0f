#pragma once
#include "apps/learn/cli/command_line.h"

#include <vector>

namespace learn::cli {

/// Puts the commands into the order and under the headings in which the help of the program shows
/// them, and gives each its examples. Those that are not in the manual stand behind all others.
void add_manual(std::vector<Command>& commands);

}  // namespace learn::cli
