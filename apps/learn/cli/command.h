#pragma once
#include "apps/experiment/options.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace learn::cli {

struct Parsed;

/// Headings of the program's help, in its order.
enum class Group : std::uint8_t { train, use, runs, data, about };
[[nodiscard]] std::string_view heading(Group group);

/// A positional argument of a command: "RUN".
struct Argument {
  std::string name;
  std::string help;
  bool required = false;
  bool several = false;  ///< all words that are left; of the last one only
  /// Its possible values, for completion; may be empty.
  std::function<std::vector<std::string>()> known{};
};

/// A line that a user may type, and what it is for.
struct Example {
  std::string about;
  std::string line;
};

/// A command of the program.
struct Command {
  std::string name;
  Group group = Group::about;
  int place = 0;  ///< in the list of its group, before those with a larger one
  std::string help;
  std::vector<Argument> arguments{};
  std::vector<Example> examples{};
  OptionTable options{};
  /// Options that a copied line of `learn train` may have: they are accepted, with a message in the
  /// log that they have no effect.
  OptionTable without_effect{};
  /// Whether several processes of a launcher (mpirun, srun) may run it: they do it together, or
  /// each only prints. Copies of others would write the same files.
  bool in_ranks = false;
  std::function<int(const Parsed&)> run{};  ///< returns the exit code
};

/// Content of the command line, before it is applied.
struct Parsed {
  const Command* command = nullptr;  ///< one of those that were given; null for a program of none
  std::vector<std::string> words;    ///< all, as given
  /// The words of each of the command's arguments.
  std::vector<std::vector<std::string>> arguments;
  OptionValues values;          ///< option and text, in order
  OptionValues without_effect;  ///< same for options without one
  bool quiet = false;
  bool verbose = false;
  std::string print;  ///< help or version was requested: print this and exit

  /// The word of an argument that has no more than one; empty if it was not given.
  [[nodiscard]] std::string argument(std::size_t i = 0) const {
    return arguments.at(i).empty() ? std::string() : arguments[i].front();
  }
};

/// The commands of the program. To add one, put a function `register_NAME(Commands&)` into a source
/// below apps/learn: the build finds it.
class Commands {
 public:
  /// All that the build has found, by group, place and name.
  Commands();
  Commands(const Commands&) = delete;  // those that explain the others refer to it
  Commands& operator=(const Commands&) = delete;

  [[nodiscard]] const std::vector<Command>& all() const noexcept { return all_; }

  void add(Command command) { all_.push_back(std::move(command)); }

  /// Adds a command whose options are those of `Options::table()`, in an object that lives as long
  /// as the command. Calls `run` when they are set, by `Options::resolve` if there is one. Options
  /// of `Options::without_effect` are accepted, too.
  template <class Options>
  void add(Command command, int (*run)(Options&, const Parsed&)) {
    const auto options = std::make_shared<Options>();
    command.options = options->table();
    if constexpr (requires { options->without_effect(); })
      command.without_effect = options->without_effect();
    command.run = [options, run](const Parsed& parsed) {
      const OptionTable& table = parsed.command->options;
      if constexpr (requires { options->resolve(table, parsed.values); })
        options->resolve(table, parsed.values);
      else
        set_options(table, parsed.values);
      return run(*options, parsed);
    };
    add(std::move(command));
  }

 private:
  std::vector<Command> all_;
};

}  // namespace learn::cli
