#pragma once
#include "apps/experiment/options.h"
#include "apps/learn/cli/command_line.h"
#include "apps/learn/common/ranks.h"
#include "framework/core/error.h"
#include "framework/core/function_ref.h"

#include <fmt/core.h>

#include <exception>
#include <string>

namespace learn::bench {

/// Runs the main function of a benchmark: sets the options, or prints the help, and calls `body`.
/// Returns body's exit status, or after printing an error, that error's exit status.
inline int run_program(int argc,
                       char** argv,
                       const std::string& name,
                       const std::string& help,
                       const OptionTable& options,
                       FunctionRef<int()> body) {
  try {
    const cli::Parsed parsed = cli::parse_program({argv + 1, argv + argc}, name, help, options);
    if (!parsed.print.empty()) {
      fmt::print("{}", parsed.print);
      return 0;
    }
    set_options(options, parsed.values);
    const int status = body();
    cli::close_ranks();
    return status;
  } catch (const Error& e) {
    return cli::report_error(e.what(), e.exit_code());
  } catch (const std::exception& e) {
    return cli::report_error(e.what(), ExitCode::internal);
  }
}

}  // namespace learn::bench
