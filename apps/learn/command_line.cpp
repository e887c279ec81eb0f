// The only file that includes CLI11.
#include "apps/learn/command_line.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace learn::cli {
namespace {

/// Names as "--plots, --no-plots"; CLI11 also says that the second one stands for false.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    std::string text;
    for (const char c : CLI::Formatter::make_option_name(option, positional))
      text += c == ',' ? std::string(", ") : std::string(1, c);
    const std::size_t note = text.find("{false}");
    return note == std::string::npos ? text : text.erase(note, std::string_view("{false}").size());
  }
};

/// An empty word is what a shell makes of a variable that is not set.
void require_text(const std::string& what, const std::string& text) {
  if (text.empty())
    fail<UsageError>(
        "{} is empty: leave it out, or give it a value (is a variable of the shell not "
        "set?)",
        what);
}

void add_option(CLI::App& app, const Option& option, Parsed& parsed) {
  const std::string names =
      (option.short_name.empty() ? "" : "-" + option.short_name + ",") + "--" + option.name;
  if (option.kind == OptionKind::flag) {
    app.add_flag_function(
           names + ",!--no-" + option.name,
           [&parsed, name = option.name](std::int64_t count) {
             parsed.values.emplace_back(name, count > 0 ? "true" : "false");
           },
           option.help_with_default())
        ->group(option.group);
    return;
  }
  app.add_option_function<std::string>(
         names,
         [&parsed, name = option.name](const std::string& text) {
           require_text("--" + name, text);
           parsed.values.emplace_back(name, text);
         },
         option.help_with_default())
      ->type_name(option.value)
      ->group(option.group)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void add_argument(CLI::App& app, const Argument& argument, std::vector<std::string>& words) {
  app.add_option(argument.name, words, argument.help)
      ->type_name("")
      ->required(argument.required)
      ->expected(1, argument.several ? CLI::detail::expected_max_vector_size : 1)
      ->allow_extra_args(argument.several);
}

/// `epochs=5` becomes `--epochs=5` where a command has such an option; anything else stays.
std::vector<std::string> with_dashes(const std::vector<std::string>& argv,
                                     const std::vector<Command>& commands) {
  std::vector<std::string> out;
  const Command* command = nullptr;
  for (const std::string& word : argv) {
    for (const Command& one : commands)
      if (command == nullptr && one.name == word) command = &one;
    const std::string key = word.substr(0, word.find('='));
    const bool pair = key.size() < word.size() && !word.starts_with("-") && command != nullptr;
    const Option* option = pair ? command->options.find(key) : nullptr;
    // A bare true or false is how such pairs switch a flag.
    if (option != nullptr && option->kind == OptionKind::flag && word == key + "=false")
      out.push_back("--no-" + key);
    else if (option != nullptr && option->kind == OptionKind::flag && word == key + "=true")
      out.push_back("--" + key);
    else
      out.push_back((option != nullptr ? "--" : "") + word);
  }
  return out;
}

[[noreturn]] void reject_command(const std::string& word, const std::vector<Command>& commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const Command& one : commands) names.push_back(one.name);
  fail<UsageError>("unknown command '{}'{}\n  'learn --help' lists the commands",
                   word,
                   did_you_mean(word, names));
}

/// `program` is what the user called: "learn train".
[[noreturn]] void reject_option(const std::string& word,
                                const std::string& program,
                                const OptionTable& options) {
  const std::string bare = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  const std::string name = bare.substr(0, bare.find('='));
  const std::string nearest_name = nearest(name, options.names());
  fail<UsageError>("unknown {} '{}' of '{}'{}\n  '{} --help' lists the options",
                   word.starts_with("-") || bare.size() > name.size() ? "option" : "argument",
                   word,
                   program,
                   nearest_name.empty() ? "" : fmt::format("; did you mean '--{}'?", nearest_name),
                   program);
}

}  // namespace

Parsed parse_command_line(const std::vector<std::string>& argv,
                          const std::vector<Command>& commands,
                          const std::string& version) {
  Parsed parsed;
  CLI::App app("learn: a callback-driven training framework", "learn");
  app.formatter(std::make_shared<HelpFormatter>());  // subcommands inherit it
  bool wants_version = false;
  app.add_flag("-V,--version", wants_version, "print the version");
  app.add_flag(
      "-q,--quiet", parsed.quiet, "warnings and errors only; the results are still printed");
  app.add_flag("-v,--verbose", parsed.verbose, "say more");
  app.allow_extras();
  app.require_subcommand(0, 1);  // so that a folder may be called like a command
  std::vector<CLI::App*> subcommands;
  std::vector<std::vector<std::vector<std::string>>> arguments;  // of each command, the words
  arguments.reserve(commands.size());                            // CLI11 keeps references
  for (const Command& command : commands) {
    CLI::App* sub = app.add_subcommand(command.name, command.help);
    sub->allow_extras()->fallthrough();
    arguments.emplace_back(command.arguments.size());
    for (std::size_t i = 0; i < command.arguments.size(); ++i)
      add_argument(*sub, command.arguments[i], arguments.back()[i]);
    for (const Option& option : command.options.all()) add_option(*sub, option, parsed);
    subcommands.push_back(sub);
  }
  std::vector<std::string> words = with_dashes(argv, commands);
  std::reverse(words.begin(), words.end());  // CLI11 wants a stack
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    for (const CLI::App* sub : subcommands)
      if (sub->parsed()) return Parsed{.print = sub->help("learn")};
    return Parsed{.print = app.help()};
  } catch (const CLI::ParseError& e) {
    fail<UsageError>("{}", e.what());
  }
  if (wants_version) return Parsed{.print = "learn " + version + "\n"};

  const Command* chosen = nullptr;
  for (std::size_t i = 0; i < commands.size(); ++i)
    if (subcommands[i]->parsed()) chosen = &commands[i];
  const std::vector<std::string> rest = app.remaining(true);
  // The first word that could not be placed decides what the user is told.
  if (!rest.empty() && chosen == nullptr) reject_command(rest.front(), commands);
  if (!rest.empty()) reject_option(rest.front(), "learn " + chosen->name, chosen->options);
  if (chosen == nullptr) return Parsed{.print = app.help()};
  parsed.arguments = arguments[static_cast<std::size_t>(chosen - commands.data())];
  for (std::size_t i = 0; i < parsed.arguments.size(); ++i)
    for (const std::string& word : parsed.arguments[i])
      require_text(chosen->arguments[i].name, word);
  parsed.command = chosen;
  return parsed;
}

Parsed parse_program(const std::vector<std::string>& argv,
                     const std::string& name,
                     const std::string& help,
                     const OptionTable& options) {
  Parsed parsed;
  CLI::App app(help, name);
  app.formatter(std::make_shared<HelpFormatter>());
  app.allow_extras();
  for (const Option& option : options.all()) add_option(app, option, parsed);
  std::vector<std::string> words(argv.rbegin(), argv.rend());  // CLI11 wants a stack
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    return Parsed{.print = app.help()};
  } catch (const CLI::ParseError& e) {
    fail<UsageError>("{}", e.what());
  }
  const std::vector<std::string> rest = app.remaining();
  if (!rest.empty()) reject_option(rest.front(), name, options);
  return parsed;
}

}  // namespace learn::cli
