#pragma once
#include <functional>
#include <string>
#include <vector>

namespace fakecuda::selftest {

/// How a child process ended, and what it wrote to stderr.
struct Outcome {
  int status = 0;  ///< exit status, or 128 + the signal
  std::string text;
};

/// Runs `body` in a child process under a schedule of the streams; it exits with the body's result,
/// through the destructors of the program if `through_exit`.
[[nodiscard]] Outcome in_child(const std::function<int()>& body,
                               const std::string& schedule = "now",
                               bool through_exit = false);

/// Runs `body` in several child processes at once, which get their numbers.
[[nodiscard]] std::vector<Outcome> in_children(int children,
                                               const std::function<int(int)>& body,
                                               const std::string& schedule = "now");

}  // namespace fakecuda::selftest
