#include "apps/learn/cli/run_command.h"

#include "apps/learn/cli/command_line.h"
#include "apps/learn/cli/completion.h"
#include "apps/learn/common/ranks.h"
#include "apps/learn/common/signals.h"
#include "framework/core/console.h"
#include "framework/core/log.h"
#include "framework/core/version.h"

#include <cstdio>
#include <new>
#include <string_view>

namespace learn::cli {
namespace {

/// Their values are checked all the same.
void say_without_effect(const Parsed& parsed) {
  if (parsed.without_effect.empty()) return;
  set_options(parsed.command->without_effect, parsed.without_effect);
  std::vector<std::string> names;
  for (const auto& [name, text] : parsed.without_effect) names.push_back("--" + name);
  log::info("[options] without effect in 'learn {}': {}", parsed.command->name, join(names));
}

int dispatch(const std::vector<std::string>& argv) {
  const Commands commands;
  // For the shells' scripts: a hidden command, whose words may be empty.
  if (!argv.empty() && argv.front() == "__complete") {
    console::print(completions(commands.all(), {argv.begin() + 1, argv.end()}));
    return 0;
  }
  const Parsed parsed = parse_command_line(argv, commands.all(), LEARN_VERSION);
  if (!parsed.print.empty()) {
    console::print(parsed.print);
    return 0;
  }
  if (!parsed.command->in_ranks) check_one_process("learn " + parsed.command->name);
  log::set_level(parsed.quiet     ? log::Level::warn
                 : parsed.verbose ? log::Level::debug
                                  : log::Level::info);
  say_without_effect(parsed);
  try {
    return parsed.command->run(parsed);
  } catch (const std::bad_alloc&) {
    if (parsed.command->options.find("batch-size") == nullptr) throw;
    return report_error("out of memory: try a smaller --batch-size", ExitCode::out_of_memory);
  }
}

}  // namespace

int run_command(const std::vector<std::string>& argv) noexcept {
  console::hold_standard_streams();
  ignore_file_size_signal();
  try {
    return dispatch(argv);
  } catch (const Error& e) {
    return report_error(e.what(), e.exit_code());
  } catch (const std::bad_alloc&) {
    return report_error("out of memory", ExitCode::out_of_memory);
  } catch (const std::exception& e) {
    return report_error(std::string(e.what()) + "\nThis is a bug in learn; please report it.",
                        ExitCode::internal);
  }
}

}  // namespace learn::cli
