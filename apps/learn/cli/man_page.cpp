#include "apps/learn/cli/man_page.h"

#include "apps/learn/cli/command_help.h"
#include "framework/core/options/quoting.h"

#include <algorithm>
#include <utility>

namespace learn::cli {
namespace {

/// Text as roff takes it: nothing in it is a request, and a dash is one that can be copied.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string bold(const std::string& text) { return "\\fB" + escaped(text) + "\\fR"; }

std::string section(const std::string& title) { return ".SH " + title + "\n"; }

/// In the argument of a request quotes are written twice.
std::string quoted(const std::string& text) { return in_quotes(escaped(text)); }

/// Does this for a text whose long words are lists: lines may break after separators.
std::string breakable(const std::string& text) {
  std::string out;
  for (const char c : escaped(text)) {
    out += c;
    if (c == ',' || c == ';' || c == '|') out += "\\:";
  }
  return out;
}

/// A term at the margin, and its meaning.
std::string entry(const std::string& name, const std::string& meaning) {
  return ".TP\n" + bold(name) + "\n" + breakable(meaning) + "\n";
}

std::string header(const std::string& name, const std::string& version, const std::string& help) {
  // Without a date, so that the same program makes the same page.
  return ".TH " + quoted(name) + " 1 \"\" " + quoted("learn " + version) +
         " \"User Commands\"\n.ad l\n.nh\n" + section("NAME") + escaped(name) + " \\- " +
         escaped(help) + "\n";
}

std::string examples(const std::vector<Example>& all) {
  if (all.empty()) return "";
  std::string text = section("EXAMPLES");
  for (const Example& example : all)
    text += (&example == &all.front() ? "" : ".PP\n") + escaped(example.about) +
            ":\n.PP\n.nf\n.RS\n" + escaped(example.line) + "\n.RE\n.fi\n";
  return text;
}

std::string globals() {
  std::string text = ".SS \"Options of all commands\"\n";
  for (const GlobalOption& option : global_options())
    text += entry((option.short_name.empty() ? "" : "-" + std::string(option.short_name) + ", ") +
                      "--" + std::string(option.name),
                  std::string(option.help));
  return text;
}

std::string exit_codes() {
  std::string text = section("EXIT STATUS");
  for (const auto& [code, meaning] : std::vector<std::pair<std::string, std::string>>{
           {"0", "done"},
           {"1", "a bug in learn"},
           {"2", "usage"},
           {"3", "data"},
           {"4", "a checkpoint"},
           {"5", "the file system"},
           {"6", "memory"},
           {"7", "the training diverged, or will (audit)"},
           {"8", "no such device"},
           {"128+N",
            "signal N: 130 Ctrl-C, 143 SIGTERM, 129 closed terminal; a training first writes a "
            "checkpoint"}})
    text += entry(code, meaning);
  return text;
}

std::string environment() {
  return section("ENVIRONMENT") + entry("LEARN_DATA", "folder of the data sets") +
         entry("LEARN_DEVICE", "the device for --device auto: cpu, cuda:1") +
         entry("LEARN_MEM_LIMIT", "memory limit for tensors: 2G");
}

}  // namespace

std::string command_page(const Command& command, const std::string& version) {
  std::string text = header("learn-" + command.name, version, command.help) + section("SYNOPSIS") +
                     bold("learn " + command.name);
  const std::string usage = usage_line(command, "learn ");
  text += escaped(usage.substr(std::string("learn ").size() + command.name.size())) + "\n";
  if (!command.arguments.empty()) text += section("ARGUMENTS");
  for (const Argument& argument : command.arguments) text += entry(argument.name, argument.help);
  text += section("OPTIONS");
  std::string group;
  for (const Option& option : command.options.all()) {
    if (option.group != group) text += ".SS " + quoted(option.group) + "\n";
    group = option.group;
    text += entry(option_names(option),
                  option_meaning(option) + (option.range.empty() ? "" : ", " + option.range));
  }
  return text + globals() + examples(command.examples) + section("SEE ALSO") + "\\fBlearn\\fR(1)\n";
}

std::string program_page(const std::vector<Command>& commands, const std::string& version) {
  std::string text = header("learn", version, "train neural networks on images") +
                     section("SYNOPSIS") + bold("learn") + " COMMAND [ARGUMENT...] [OPTION...]\n" +
                     section("DESCRIPTION") +
                     escaped(
                         "A callback-driven training framework. Each command has a separate page, "
                         "and help: learn help COMMAND. Options are written --name VALUE, "
                         "--name=VALUE or name=VALUE; everything after -- is an argument.") +
                     "\n" + section("COMMANDS");
  const Command* before = nullptr;
  for (const Command& command : commands) {
    if (before == nullptr || before->group != command.group)
      text += ".SS " + quoted(std::string(heading(command.group))) + "\n";
    before = &command;
    text +=
        ".TP\n\\fBlearn\\-" + escaped(command.name) + "\\fR(1)\n" + escaped(command.help) + "\n";
  }
  text += section("OPTIONS") + globals() + exit_codes() + environment() + section("SEE ALSO");
  for (const Command& command : commands)
    text += bold("learn-" + command.name) + "(1)" + (&command == &commands.back() ? "\n" : ",\n");
  return text;
}

}  // namespace learn::cli
