// The only file that includes CLI11. It divides the words of a command line among options and
// arguments and does nothing else: OptionTable has names, values, defaults and help (ADR 0039).
#include "apps/learn/cli/command_line.h"

#include "apps/learn/cli/command_help.h"
#include "apps/learn/cli/unknown_word.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <utility>

namespace learn::cli {
namespace {

/// A shell turns an unset variable into an empty word.
void require_text(const std::string& what, const std::string& text) {
  if (text.empty())
    fail<UsageError>("{} is empty: omit it, or give it a value (is a shell variable not set?)",
                     what);
}

void add_option(CLI::App& app, const Option& option, Parsed& parsed) {
  const std::string names =
      (option.short_name.empty() ? "" : "-" + option.short_name + ",") + "--" + option.name;
  if (option.kind == OptionKind::flag) {
    app.add_flag_function(names + ",!--no-" + option.name,
                          [&parsed, name = option.name](std::int64_t count) {
                            parsed.values.emplace_back(name, count > 0 ? "true" : "false");
                          })
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    return;
  }
  app.add_option_function<std::string>(names,
                                       [&parsed, name = option.name](const std::string& text) {
                                         require_text("--" + name, text);
                                         parsed.values.emplace_back(name, text);
                                       })
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

/// Missing arguments are checked after the options, whose errors are more specific.
void add_argument(CLI::App& app, const Argument& argument, std::vector<std::string>& words) {
  app.add_option(argument.name, words)
      ->expected(1, argument.several ? CLI::detail::expected_max_vector_size : 1)
      ->allow_extra_args(argument.several);
}

/// The flag that `--plots=false` or `plots=false` stands for.
std::string as_flag(const std::string& name, const std::string& value) {
  if (value != "true" && value != "false")
    fail<UsageError>("--{} must be true or false, not '{}'", name, value);
  return value == "true" ? "--" + name : "--no-" + name;
}

/// `epochs=5` becomes `--epochs=5` where the command has such an option; anything else stays.
std::string with_dashes(const std::string& word, const OptionTable& options) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || (word.starts_with("-") && !word.starts_with("--")))
    return word;
  const std::size_t begin = word.starts_with("--") ? 2 : 0;
  const std::string key = word.substr(begin, equals - begin);
  const std::string value = word.substr(equals + 1);
  const Option* const option = options.find(key);
  if (option == nullptr) {
    if (begin > 0 && names_option(key, options)) fail<UsageError>("--{} takes no value", key);
    return word;
  }
  if (option->kind == OptionKind::flag) return as_flag(key, value);
  require_text("--" + key, value);
  return "--" + key + "=" + value;
}

/// Refuses an option whose value is missing: CLI11 would take the next option for it.
void check_values(const std::vector<std::string>& words, const OptionTable& options) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const Option* const option = option_before_value(words[i], options);
    if (option == nullptr) continue;
    const std::string next = i + 1 < words.size() ? words[i + 1] : "";
    const bool other = next == "--" || (next.starts_with("--") &&
                                        names_option(next.substr(0, next.find('=')), options));
    if (i + 1 == words.size() || other)
      fail<UsageError>("--{} needs a value: --{} {}{}",
                       option->name,
                       option->name,
                       option->value,
                       other ? fmt::format("; '{}' is not its value", next) : "");
    ++i;
  }
}

/// The words that follow the command's name, or all of a program that has no commands: pairs get
/// dashes.
std::vector<std::string> prepared(std::vector<std::string> words,
                                  const std::string& program,
                                  const OptionTable& options) {
  for (std::string& word : words) {
    if (word == "--") break;
    word = with_dashes(word, options);
    // CLI11 would read -epochs as -e with the value "pochs".
    if (word.size() > 2 && word[0] == '-' && word[1] != '-' &&
        options.find(word.substr(1, word.find('=') - 1)) != nullptr)
      reject_option(word, program, options);
  }
  check_values(words, options);
  return words;
}

/// Words that could not be placed, without the mark of the end of the options.
std::vector<std::string> unplaced(const CLI::App& app) {
  std::vector<std::string> rest = app.remaining(true);
  if (const auto mark = std::ranges::find(rest, "--"); mark != rest.end()) rest.erase(mark);
  return rest;
}

void parse(CLI::App& app, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // CLI11 expects a stack
  try {
    app.parse(words);
  } catch (const CLI::ParseError& e) {
    fail<UsageError>("{}", e.what());
  }
}

/// Global options that were given.
struct Globals {
  bool help = false;
  bool help_all = false;
  bool version = false;
};

void add_help(CLI::App& app, Globals& globals) {
  app.set_help_flag();  // ours are printed by command_help.h
  app.add_flag("-h,--help", globals.help);
  app.add_flag("--help-all", globals.help_all);
}

}  // namespace

const std::vector<GlobalOption>& global_options() {
  static const std::vector<GlobalOption> all{
      {"h", "help", "print this help; for a command, its most common options"},
      {"", "help-all", "print all options of a command"},
      {"V", "version", "print the version"},
      {"q", "quiet", "log only warnings and errors; print results as usual"},
      {"v", "verbose", "log more details"}};
  return all;
}

const Option* option_before_value(const std::string& word, const OptionTable& options) {
  for (const Option& option : options.all())
    if (option.kind != OptionKind::flag &&
        (word == "--" + option.name ||
         (!option.short_name.empty() && word == "-" + option.short_name)))
      return &option;
  return nullptr;
}

Parsed parse_command_line(const std::vector<std::string>& argv,
                          const std::vector<Command>& commands,
                          const std::string& version) {
  const auto named = [&](const std::string& word) {
    return std::ranges::find(commands, word, &Command::name);
  };
  const auto first = std::ranges::find_if(argv, [](const std::string& word) {
    return !std::ranges::any_of(global_options(), [&](const GlobalOption& option) {
      return word == "--" + std::string(option.name) ||
             (!option.short_name.empty() && word == "-" + std::string(option.short_name));
    });
  });
  const Command* const chosen =
      first != argv.end() && named(*first) != commands.end() ? &*named(*first) : nullptr;
  if (first != argv.end() && chosen == nullptr) reject_command({first, argv.end()}, commands);

  Parsed parsed{.words = argv};
  Globals globals;
  CLI::App app;
  add_help(app, globals);
  app.add_flag("-V,--version", globals.version);
  app.add_flag("-q,--quiet", parsed.quiet);
  app.add_flag("-v,--verbose", parsed.verbose);
  app.allow_extras();
  std::vector<std::string> words(argv.begin(), first);
  if (chosen != nullptr) {
    parsed.arguments.resize(chosen->arguments.size());
    for (std::size_t i = 0; i < chosen->arguments.size(); ++i)
      add_argument(app, chosen->arguments[i], parsed.arguments[i]);
    const OptionTable accepted = chosen->options.with(chosen->without_effect);
    for (const Option& option : accepted.all()) add_option(app, option, parsed);
    const std::vector<std::string> own =
        prepared({first + 1, argv.end()}, "learn " + chosen->name, accepted);
    words.insert(words.end(), own.begin(), own.end());
  }
  parse(app, words);
  if (globals.version) return Parsed{.print = "learn " + version + "\n"};
  if (chosen == nullptr) return Parsed{.print = program_help(commands, help_width())};
  if (globals.help || globals.help_all)
    return Parsed{.print = command_help(*chosen, "learn ", help_width(), globals.help_all)};

  // The first word that could not be placed determines the error.
  const std::vector<std::string> rest = unplaced(app);
  if (!rest.empty())
    reject_option(rest.front(), "learn " + chosen->name, chosen->options, commands);
  for (std::size_t i = 0; i < parsed.arguments.size(); ++i) {
    const Argument& argument = chosen->arguments[i];
    if (argument.required && parsed.arguments[i].empty())
      fail<UsageError>("{} is required: {}", argument.name, usage_line(*chosen, "learn "));
    for (const std::string& word : parsed.arguments[i]) require_text(argument.name, word);
  }
  for (const auto& value : std::exchange(parsed.values, {}))
    (chosen->without_effect.find(value.first) != nullptr ? parsed.without_effect : parsed.values)
        .push_back(value);
  parsed.command = chosen;
  return parsed;
}

Parsed parse_program(const std::vector<std::string>& argv,
                     const std::string& name,
                     const std::string& help,
                     const OptionTable& options) {
  Parsed parsed;
  Globals globals;
  CLI::App app;
  add_help(app, globals);
  app.allow_extras();
  for (const Option& option : options.all()) add_option(app, option, parsed);
  parse(app, prepared(argv, name, options));
  if (globals.help || globals.help_all)
    return Parsed{
        .print = command_help(
            {.name = name, .help = help, .options = options}, "", help_width(), globals.help_all)};
  const std::vector<std::string> rest = unplaced(app);
  if (!rest.empty()) reject_option(rest.front(), name, options);
  return parsed;
}

}  // namespace learn::cli
