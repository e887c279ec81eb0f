#pragma once
#include "apps/learn/cli/command_line.h"

#include <cstddef>
#include <string>
#include <vector>

namespace learn::cli {

/// Columns for help on standard output: the terminal's, at least 40 and at most 100; 80 without a
/// terminal.
[[nodiscard]] std::size_t help_width();

/// A name, with the spaces before it, and its meaning, in two columns. If a name is too long for
/// its column, or the page is too narrow for two, the meaning is on separate lines.
[[nodiscard]] std::string help_row(const std::string& name,
                                   const std::string& meaning,
                                   std::size_t width);

/// "learn eval RUN|FILE|last [OPTION...]". `program` is the text before the command's name: "learn
/// ", or empty.
[[nodiscard]] std::string usage_line(const Command& command, const std::string& program);

/// "-e, --epochs N", "--[no-]plots".
[[nodiscard]] std::string option_names(const Option& option);

/// Its description, with its choices unless the names show them, and its default.
[[nodiscard]] std::string option_meaning(const Option& option);

/// Help of a command: usage, arguments, options by group, examples. Without `all` the rare options
/// are left out, and the last line states their number.
[[nodiscard]] std::string command_help(const Command& command,
                                       const std::string& program,
                                       std::size_t width,
                                       bool all);

/// Help of the program: its commands, sorted by group.
[[nodiscard]] std::string program_help(const std::vector<Command>& commands, std::size_t width);

}  // namespace learn::cli
