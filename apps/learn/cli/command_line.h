#pragma once
#include "apps/learn/cli/command.h"

#include <string>
#include <string_view>
#include <vector>

namespace learn::cli {

/// An option that every command has.
struct GlobalOption {
  std::string_view short_name;  ///< one letter or empty
  std::string_view name;
  std::string_view help;
};
[[nodiscard]] const std::vector<GlobalOption>& global_options();

/// The option that a word names, "--epochs" or "-e", if the next word is its value; otherwise null.
[[nodiscard]] const Option* option_before_value(const std::string& word,
                                                const OptionTable& options);

/// Reads argv. `name=value` is equivalent to `--name value`; every word after `--` is an argument,
/// even if it starts with a dash. Every error is a UsageError; unknown names get a suggestion, see
/// unknown_word.h, and names cannot be abbreviated.
[[nodiscard]] Parsed parse_command_line(const std::vector<std::string>& argv,
                                        const std::vector<Command>& commands,
                                        const std::string& version);

/// Reads argv of a program without subcommands: `name` and `help` replace the subcommand's.
[[nodiscard]] Parsed parse_program(const std::vector<std::string>& argv,
                                   const std::string& name,
                                   const std::string& help,
                                   const OptionTable& options);

}  // namespace learn::cli
