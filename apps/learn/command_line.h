#pragma once
#include "framework/core/option_table.h"

#include <functional>
#include <string>
#include <vector>

namespace learn::cli {

struct Parsed;

/// A subcommand.
struct Command {
  std::string name;
  std::string help;
  OptionTable options;
  std::function<int(const Parsed&)> run;  ///< returns the exit code
  std::string argument;  ///< "RUN": name of the first positional argument; empty: there is none
  std::string argument_help;
  bool argument_required = false;
  /// "FILE": name of the arguments behind the first, of which there must be one; empty: there are
  /// none.
  std::string further;
  std::string further_help;
};

/// What was on the command line, nothing applied yet.
struct Parsed {
  const Command* command = nullptr;  ///< one of those that were given; null for a program of none
  std::string argument;
  std::vector<std::string> further;
  OptionValues values;  ///< option and text, in order
  bool quiet = false;
  bool verbose = false;
  std::string print;  ///< help or version was asked for: print this and leave
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
