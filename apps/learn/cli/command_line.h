#pragma once
#include "framework/core/option_table.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace learn::cli {

struct Parsed;

/// A positional argument of a subcommand: "RUN".
struct Argument {
  std::string name;
  std::string help;
  bool required = false;
  bool several = false;  ///< all words that are left; of the last one only
  /// What it may be, for completion; may be empty.
  std::function<std::vector<std::string>()> known{};
};

/// A line that a user may type, and what it is for.
struct Example {
  std::string about;
  std::string line;
};

/// A subcommand.
struct Command {
  std::string name;
  std::string help;
  OptionTable options;
  std::function<int(const Parsed&)> run;  ///< returns the exit code
  std::vector<Argument> arguments;
  std::string group{};  ///< heading in the help of the program; see command_manual.h
  std::vector<Example> examples{};
  /// Options that a copied line of `learn train` may have: they are accepted, and the log says that
  /// they have no effect.
  OptionTable without_effect{};
};

/// What was on the command line, nothing applied yet.
struct Parsed {
  const Command* command = nullptr;  ///< one of those that were given; null for a program of none
  /// The words of each of the command's arguments.
  std::vector<std::vector<std::string>> arguments;
  OptionValues values;          ///< option and text, in order
  OptionValues without_effect;  ///< the same of options that have none
  bool quiet = false;
  bool verbose = false;
  std::string print;  ///< help or version was asked for: print this and leave

  /// The word of an argument that has no more than one; empty if it was not given.
  [[nodiscard]] std::string argument(std::size_t i = 0) const {
    return arguments.at(i).empty() ? std::string() : arguments[i].front();
  }
};

/// An option that every command has.
struct GlobalOption {
  std::string_view short_name;  ///< one letter or empty
  std::string_view name;
  std::string_view help;
};
[[nodiscard]] const std::vector<GlobalOption>& global_options();

/// The option that a word names, "--epochs" or "-e", if the next word is to be its value; else
/// null.
[[nodiscard]] const Option* option_before_value(const std::string& word,
                                                const OptionTable& options);

/// Reads argv. `name=value` is taken as `--name value`; what stands behind `--` is an argument
/// whatever it begins with. Whatever is wrong is a UsageError; unknown names come with what may be
/// meant, see unknown_word.h, and nothing is taken for the name that it only begins.
[[nodiscard]] Parsed parse_command_line(const std::vector<std::string>& argv,
                                        const std::vector<Command>& commands,
                                        const std::string& version);

/// The same for a program that has no subcommands: `name` and `help` stand where they have theirs.
[[nodiscard]] Parsed parse_program(const std::vector<std::string>& argv,
                                   const std::string& name,
                                   const std::string& help,
                                   const OptionTable& options);

}  // namespace learn::cli
