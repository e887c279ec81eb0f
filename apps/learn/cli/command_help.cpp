#include "apps/learn/cli/command_help.h"

#include "framework/terminal/progress_bar.h"
#include "framework/terminal/word_wrap.h"

#include <unistd.h>

#include <algorithm>

namespace learn::cli {
namespace {

/// A paragraph.
std::string paragraph(const std::string& text, std::size_t width) {
  return wrapped(text, width) + '\n';
}

/// A line to type. A line that is too long continues after a backslash, as in a shell; words are
/// not broken.
std::string typed(const std::string& line, std::size_t width) {
  constexpr std::size_t kMark = 2;  // " \\"
  std::string text = "    ";
  std::size_t column = text.size();
  for (const std::string& word : split(line, " ")) {
    const bool first = column == 4;
    if (!first && column + 1 + word.size() + kMark > width) {
      text += " \\\n        ";
      column = 8;
    } else if (!first) {
      text += ' ';
      ++column;
    }
    text += word;
    column += word.size();
  }
  return text + '\n';
}

std::string examples(const std::vector<Example>& all, std::size_t width) {
  if (all.empty()) return "";
  std::string text = "\nExamples:\n";
  for (const Example& example : all)
    text += "  " + wrapped(example.about + ":", width, 2, 2) + '\n' + typed(example.line, width);
  return text;
}

/// The possible values are in the help text if they would fill the column of names.
bool is_long(const Option& option) {
  constexpr std::size_t kLongest = 24;
  return option.value.size() > kLongest && option.value.find('|') != std::string::npos;
}

std::string global_names(const GlobalOption& option) {
  const std::string name = "--" + std::string(option.name);
  return option.short_name.empty() ? name : "-" + std::string(option.short_name) + ", " + name;
}

std::string globals(std::size_t width) {
  std::string text = "\nOptions of all commands:\n";
  for (const GlobalOption& option : global_options())
    text += help_row("  " + global_names(option), std::string(option.help), width);
  return text;
}

}  // namespace

std::string help_row(const std::string& name, const std::string& meaning, std::size_t width) {
  constexpr std::size_t kColumn = 26;
  constexpr std::size_t kNarrow = 60;
  const std::size_t column = width < kNarrow ? 6 : kColumn;
  const std::string gap = name.size() + 2 > column ? '\n' + std::string(column, ' ')
                                                   : std::string(column - name.size(), ' ');
  return name + gap + wrapped(meaning, width, column, column) + '\n';
}

std::size_t help_width() {
  constexpr std::size_t kNarrowest = 40;
  constexpr std::size_t kWidest = 100;
  return std::clamp(terminal_width(STDOUT_FILENO), kNarrowest, kWidest);
}

std::string usage_line(const Command& command, const std::string& program) {
  std::string text = program + command.name;
  for (const Argument& argument : command.arguments) {
    const std::string name = argument.name + (argument.several ? "..." : "");
    text += argument.required ? " " + name : " [" + name + "]";
  }
  return command.options.all().empty() ? text : text + " [OPTION...]";
}

std::string option_names(const Option& option) {
  std::string text = option.short_name.empty() ? "" : "-" + option.short_name + ", ";
  // A flag that is off can also be switched off explicitly, which overrides a file that switches it
  // on.
  if (option.kind == OptionKind::flag)
    return text + (option.usual == "true" ? "--[no-]" : "--") + option.name;
  return text + "--" + option.name + " " + (is_long(option) ? std::string("WORD") : option.value);
}

std::string option_meaning(const Option& option) {
  Option shown = option;
  // A flag that is off by default does not show its default.
  if (option.kind == OptionKind::flag) shown.usual = option.usual == "true" ? "on" : "";
  if (is_long(option)) {
    std::string choices = option.value;
    for (std::size_t at = 0; (at = choices.find('|', at)) != std::string::npos; at += 2)
      choices.replace(at, 1, ", ");
    shown.help += "; one of: " + choices;
  }
  return shown.help_with_default();
}

std::string command_help(const Command& command,
                         const std::string& program,
                         std::size_t width,
                         bool all) {
  std::string text = "Usage: " + wrapped(usage_line(command, program), width, 9, 7) + "\n\n" +
                     paragraph(command.help, width);
  if (!command.arguments.empty()) text += "\nArguments:\n";
  for (const Argument& argument : command.arguments)
    text += help_row("  " + argument.name, argument.help, width);
  std::string group;
  std::size_t left_out = 0;
  for (const Option& option : command.options.all()) {
    if (option.rare && !all) {
      ++left_out;
      continue;
    }
    if (option.group != group) text += '\n' + option.group + ":\n";
    group = option.group;
    text += help_row("  " + option_names(option), option_meaning(option), width);
  }
  if (program.empty())
    text += '\n' + help_row("  -h, --help", "print this help", width);
  else
    text += globals(width);
  text += examples(command.examples, width);
  if (left_out > 0)
    text += '\n' + paragraph(fmt::format("{} more option{}: {}{} --help-all",
                                         left_out,
                                         left_out == 1 ? "" : "s",
                                         program,
                                         command.name),
                             width);
  return text;
}

std::string program_help(const std::vector<Command>& commands, std::size_t width) {
  std::string text =
      "Usage: " + wrapped("learn COMMAND [ARGUMENT...] [OPTION...]", width, 9, 7) + "\n\n" +
      paragraph("learn trains neural networks on images: a callback-driven training framework.",
                width);
  const Command* before = nullptr;
  for (const Command& command : commands) {
    if (before == nullptr || before->group != command.group)
      text += fmt::format("\n{}:\n", heading(command.group));
    before = &command;
    text += help_row("  " + command.name, command.help, width);
  }
  text += globals(width);
  text += examples({{"A first training, on drawn images", "learn train --preset quick"},
                    {"Help for a command, with examples", "learn help train"},
                    {"Callbacks and their options", "learn help callbacks"}},
                   width);
  return text;
}

}  // namespace learn::cli
