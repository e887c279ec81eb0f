#pragma once
#include "framework/core/option_table.h"

#include <functional>
#include <string>
#include <vector>

namespace learn::cli {

struct Parsed;

/// A positional argument of a subcommand: "RUN".
struct Argument {
  std::string name;
  std::string help;
  bool required = false;
  bool several = false;  ///< all words that are left; of the last one only
};

/// A subcommand.
struct Command {
  std::string name;
  std::string help;
  OptionTable options;
  std::function<int(const Parsed&)> run;  ///< returns the exit code
  std::vector<Argument> arguments;
};

/// What was on the command line, nothing applied yet.
struct Parsed {
  const Command* command = nullptr;  ///< one of those that were given; null for a program of none
  /// The words of each of the command's arguments.
  std::vector<std::vector<std::string>> arguments;
  OptionValues values;  ///< option and text, in order
  bool quiet = false;
  bool verbose = false;
  std::string print;  ///< help or version was asked for: print this and leave

  /// The word of an argument that has no more than one; empty if it was not given.
  [[nodiscard]] std::string argument(std::size_t i = 0) const {
    return arguments.at(i).empty() ? std::string() : arguments[i].front();
  }
};

/// Reads argv. `name=value` is taken as `--name value`. Whatever is wrong is a UsageError; unknown
/// names come with the nearest known one.
[[nodiscard]] Parsed parse_command_line(const std::vector<std::string>& argv,
                                        const std::vector<Command>& commands,
                                        const std::string& version);

/// The same for a program that has no subcommands: `name` and `help` stand where they have theirs.
[[nodiscard]] Parsed parse_program(const std::vector<std::string>& argv,
                                   const std::string& name,
                                   const std::string& help,
                                   const OptionTable& options);

}  // namespace learn::cli
