#pragma once
#include <string>
#include <vector>

namespace learn::cli {

/// The whole program: `argv` without its first word. Prints errors and returns the exit code of
/// framework/core/error.h, or 128 + n after signal n. Throws nothing.
int run_command(const std::vector<std::string>& argv) noexcept;

}  // namespace learn::cli
