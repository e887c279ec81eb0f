#pragma once
#include "apps/learn/cli/command_line.h"

#include <filesystem>
#include <string>
#include <vector>

namespace learn::cli {

/// bash, zsh, fish.
[[nodiscard]] std::vector<std::string> shells();
// Both throw UsageError for another shell.

/// The script that makes one of these ask the program for its completions.
[[nodiscard]] std::string completion_script(const std::string& shell);
/// Where that shell looks for it, under a folder like /usr/share.
[[nodiscard]] std::filesystem::path completion_place(const std::string& shell);

/// Returns the completions of the last of `words`, which may be empty, can become; the words of a
/// call without the program's name. One a line, with what it means behind a tab if that is known; a
/// line ":files" or ":folders" says that the shell's own names of these belong there too. Does not
/// throw for any user input.
[[nodiscard]] std::string completions(const std::vector<Command>& commands,
                                      const std::vector<std::string>& words);

}  // namespace learn::cli
