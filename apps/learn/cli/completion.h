#pragma once
#include "apps/learn/cli/command_line.h"

#include <filesystem>
#include <string>
#include <vector>

namespace learn::cli {

/// bash, zsh, fish.
[[nodiscard]] std::vector<std::string> shells();
// Both throw UsageError for another shell.

/// Returns the script by which one of these shells gets completions from the program.
[[nodiscard]] std::string completion_script(const std::string& shell);
/// Path of that shell's completion script under a folder like /usr/share.
[[nodiscard]] std::filesystem::path completion_place(const std::string& shell);

/// Returns the completions of the last of `words`, which may be empty; `words` is a call without
/// the program's name. Each completion is a line, followed by a tab and its meaning, if known. A
/// line ":files" or ":folders" asks the shell to add its own names of these. Does not throw for any
/// user input.
[[nodiscard]] std::string completions(const std::vector<Command>& commands,
                                      const std::vector<std::string>& words);

}  // namespace learn::cli
