#include "apps/experiment/options.h"
#include "apps/learn/cli/command_help.h"
#include "apps/learn/cli/completion.h"
#include "apps/learn/cli/man_page.h"
#include "apps/learn/cli/options.h"
#include "apps/learn/cli/unknown_word.h"
#include "framework/core/console.h"
#include "framework/core/version.h"
#include "framework/io/atomic_file.h"

#include <algorithm>
#include <filesystem>
#include <memory>

namespace learn::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_of(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const Command& command : commands) names.push_back(command.name);
  return names;
}

/// A command takes precedence over a thing of the same name.
int help(const std::string& topic, const std::vector<Command>& commands) {
  const auto command = std::ranges::find(commands, topic, &Command::name);
  if (topic.empty()) {
    console::print(program_help(commands, help_width()));
    return 0;
  }
  if (command != commands.end()) {
    console::print(command_help(*command, "learn ", help_width(), false));
    return 0;
  }
  if (is_choice(topic)) return options(topic);
  std::vector<std::string> known = choice_names();
  const std::vector<std::string> names = names_of(commands);
  known.insert(known.end(), names.begin(), names.end());
  fail<UsageError>(
      "no help for '{}'{}\n  'learn help' lists commands, 'learn options' names such as callbacks",
      topic,
      topic_hint(topic, known));
}

std::string page(const std::string& name, const std::vector<Command>& commands) {
  if (name.empty()) return program_page(commands, LEARN_VERSION);
  require_known("command", name, names_of(commands));
  return command_page(*std::ranges::find(commands, name, &Command::name), LEARN_VERSION);
}

void write(const fs::path& file, const std::string& text) {
  std::error_code problem;
  fs::create_directories(file.parent_path(), problem);
  if (problem)
    fail<IoError>("cannot make folder '{}': {}", file.parent_path().string(), problem.message());
  write_file_atomically(file, text);
}

/// All pages, and the completions, under `share`.
void write_all(const fs::path& share, const std::vector<Command>& commands) {
  const fs::path man = share / "man" / "man1";
  write(man / "learn.1", page("", commands));
  for (const Command& command : commands)
    write(man / ("learn-" + command.name + ".1"), page(command.name, commands));
  for (const std::string& shell : shells())
    write(share / completion_place(shell), completion_script(shell));
  console::print(fmt::format("-> {}\n", share.string()));
}

}  // namespace

void register_help(Commands& commands) {
  commands.add(
      {.name = "help",
       .place = 4,
       .help = "show help for a command, or for a kind or name such as callbacks",
       .arguments = {{.name = "TOPIC",
                      .help = "a command; or callbacks, data, metrics, models, optimizers, "
                              "schedules, or one of these",
                      .known =
                          [&commands] {
                            std::vector<std::string> names = names_of(commands.all());
                            const std::vector<std::string> things = choice_names();
                            names.insert(names.end(), things.begin(), things.end());
                            return names;
                          }}},
       .examples = {{"Help for a command", "learn help train"},
                    {"Help for schedules", "learn help schedules"}},
       .in_ranks = true,
       .run = [&commands](const Parsed& parsed) {
         return help(parsed.argument(), commands.all());
       }});
}

void register_man(Commands& commands) {
  const auto out = std::make_shared<std::string>();
  OptionTable t;
  t.group("Options");
  t.text("out",
         *out,
         "DIR",
         "write all pages and the completions of all shells under this folder: man/man1, "
         "bash-completion/completions, zsh/site-functions, fish/vendor_completions.d");
  commands.add({.name = "man",
                .place = 5,
                .help = "print a manual page for 'man -l -', or write all pages",
                .arguments = {{.name = "COMMAND",
                               .help = "command of the page; default: learn",
                               .known = [&commands] { return names_of(commands.all()); }}},
                .examples = {{"Show the page of a command", "learn man train"},
                             {"Install pages and completions where shells and man find them",
                              "learn man --out ~/.local/share"}},
                .options = t,
                .run = [&commands, out, t](const Parsed& parsed) {
                  set_options(t, parsed.values);
                  const std::string name = parsed.argument();
                  if (!out->empty() && !name.empty())
                    fail<UsageError>("--out {} writes all pages: omit '{}'", *out, name);
                  if (!out->empty())
                    write_all(*out, commands.all());
                  else
                    console::print(page(name, commands.all()));
                  return 0;
                }});
}

void register_completion(Commands& commands) {
  commands.add({.name = "completion",
                .place = 6,
                .help = "print a shell completion script",
                .arguments = {{.name = "SHELL",
                               .help = "bash, zsh or fish; in bash: eval \"$(learn completion "
                                       "bash)\"",
                               .required = true,
                               .known = shells}},
                .examples = {{"Print the script for bash", "learn completion bash"}},
                .in_ranks = true,
                .run = [](const Parsed& parsed) {
                  console::print(completion_script(parsed.argument()));
                  return 0;
                }});
}

}  // namespace learn::cli
