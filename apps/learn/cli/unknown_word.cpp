#include "apps/learn/cli/unknown_word.h"

#include "framework/core/options/quoting.h"

#include <algorithm>
#include <filesystem>

namespace learn::cli {
namespace {

std::string_view without_dashes(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  return word.substr(0, word.find('='));
}

/// "'--a', '--b' or '--c'".
std::string alternatives(std::vector<std::string> words) {
  for (std::string& word : words) word = fmt::format("'{}'", word);
  return join_or(words);
}

/// The options of which `name` is the start or another part: "batch", "size". None if there are too
/// many to be a hint.
std::vector<std::string> options_with(std::string_view name, const OptionTable& options) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> begun, holding;
  for (const Option& option : options.all()) {
    if (option.name.starts_with(name)) begun.push_back("--" + option.name);
    if (option.name.ends_with("-" + std::string(name)) ||
        option.name.find("-" + std::string(name) + "-") != std::string::npos)
      holding.push_back("--" + option.name);
  }
  std::vector<std::string>& found = begun.empty() ? holding : begun;
  if (found.size() > kMost || name.size() < 2) found.clear();
  return found;
}

/// The commands that have an option.
std::vector<std::string> commands_with(std::string_view name,
                                       const std::vector<Command>& commands) {
  std::vector<std::string> found;
  for (const Command& command : commands)
    if (command.options.find(name) != nullptr) found.push_back("learn " + command.name);
  return found;
}

/// Equivalent of another tool's word; empty if this command has none.
std::string translated(std::string_view name, const OptionTable& options) {
  const std::string here(foreign_option(name));
  if (here.starts_with("learn ")) return here;
  const std::string option(without_dashes(here.substr(0, here.find(' '))));
  return options.find(option) != nullptr ? here : "";
}

/// "; did you mean ...", or nothing.
std::string hint(const std::string& word,
                 const OptionTable& options,
                 const std::vector<Command>& commands) {
  const std::string name(without_dashes(word));
  std::error_code ignored;
  if (word.starts_with("-") && std::filesystem::exists(word, ignored))
    return fmt::format("; if you mean the file of that name, put it after two dashes: -- {}",
                       shell_word(word));
  if (options.find(name) != nullptr)
    return word.starts_with("--") ? "" : fmt::format("; did you mean '--{}'?", name);
  if (const std::string here = translated(name, options); !here.empty())
    return fmt::format("; here use '{}'", here);
  if (const std::string_view instead = absent_feature(name); !instead.empty())
    return fmt::format("; {}", instead);
  if (name.starts_with("no-") && options.find(name.substr(3)) != nullptr)
    return fmt::format("; '--{}' takes a value and cannot be switched off", name.substr(3));
  const std::vector<std::string> near = options_with(name, options);
  if (!near.empty()) return fmt::format("; did you mean {}?", alternatives(near));
  if (const std::string near_name = nearest(name, options.names()); !near_name.empty())
    return fmt::format("; did you mean '--{}'?", near_name);
  if (const auto others = commands_with(name, commands); word.starts_with("--") && !others.empty())
    return fmt::format("; it is an option of {}", alternatives(others));
  return "";
}

/// Position of the command in a line that starts with an option. The value of an option may also be
/// the name of a command.
std::size_t place_of_command(const std::vector<std::string>& words,
                             const std::vector<Command>& commands) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool is_value = std::ranges::any_of(commands, [&](const Command& command) {
      return option_before_value(words[i - 1], command.options) != nullptr;
    });
    if (!is_value && std::ranges::find(commands, words[i], &Command::name) != commands.end())
      return i;
  }
  return words.size();
}

/// An option before the command.
[[noreturn]] void reject_early_option(const std::vector<std::string>& words,
                                      const std::vector<Command>& commands) {
  const std::string& word = words.front();
  const std::string name(without_dashes(word));
  if (const std::size_t place = place_of_command(words, commands); place < words.size()) {
    const Command& command = *std::ranges::find(commands, words[place], &Command::name);
    if (!names_option(word.substr(0, word.find('=')), command.options))
      reject_option(word, "learn " + command.name, command.options, commands);
    std::vector<std::string> ordered = words;
    std::rotate(ordered.begin(),
                ordered.begin() + static_cast<std::ptrdiff_t>(place),
                ordered.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    fail<UsageError>("options come after the command: learn {}", shell_words(ordered));
  }
  const std::vector<std::string> others = commands_with(name, commands);
  fail<UsageError>("'{}' is not an option of 'learn' itself{}\n  'learn --help' lists the commands",
                   word,
                   others.empty()
                       ? ""
                       : fmt::format("; it is an option of {} and must follow the command: {} {}",
                                     alternatives(others),
                                     others.front(),
                                     word));
}

}  // namespace

bool names_option(std::string_view word, const OptionTable& options) {
  const std::string_view name = without_dashes(word);
  const auto global = [&](const GlobalOption& one) { return one.name == name; };
  return options.find(name) != nullptr || std::ranges::any_of(global_options(), global) ||
         (name.starts_with("no-") && options.find(name.substr(3)) != nullptr &&
          options.find(name.substr(3))->kind == OptionKind::flag);
}

std::string topic_hint(const std::string& word, const std::vector<std::string>& known) {
  if (const std::string_view here = foreign_command(word); !here.empty())
    return fmt::format("; here use '{}'", here);
  if (const std::string_view instead = absent_feature(word); !instead.empty())
    return fmt::format("; {}", instead);
  return did_you_mean(word, known);
}

void reject_command(const std::vector<std::string>& words, const std::vector<Command>& commands) {
  const std::string& word = words.front();
  if (word.starts_with("-")) reject_early_option(words, commands);
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const Command& one : commands) names.push_back(one.name);
  fail<UsageError>(
      "unknown command '{}'{}\n  'learn --help' lists the commands", word, topic_hint(word, names));
}

void reject_option(const std::string& word,
                   const std::string& program,
                   const OptionTable& options,
                   const std::vector<Command>& commands) {
  const bool dashed = word.starts_with("-");
  std::error_code ignored;
  if (!dashed && options.find("data") != nullptr && std::filesystem::exists(word, ignored))
    fail<UsageError>("unknown argument '{}' of '{}': data are named by an option\n  {} --data {}",
                     word,
                     program,
                     program,
                     shell_word(word));
  const bool rare = std::ranges::any_of(options.all(), &Option::rare);
  fail<UsageError>("unknown {} '{}' of '{}'{}\n  '{} {}' lists the options",
                   dashed || word.find('=') != std::string::npos ? "option" : "argument",
                   word,
                   program,
                   hint(word, options, commands),
                   program,
                   rare ? "--help-all" : "--help");
}

}  // namespace learn::cli
