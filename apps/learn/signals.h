#pragma once
#include <atomic>

namespace learn::cli {

/// From now on the first SIGINT, SIGTERM or SIGHUP is only noted, so that the running batch can be
/// finished and a checkpoint written; a second one ends the process at once with 128 + its number.
/// SIGHUP stays ignored if it was (nohup). Writing to a closed pipe is an error and no signal.
void catch_signals();
/// The signal that came first; 0 if none did.
[[nodiscard]] const std::atomic<int>& caught_signal() noexcept;

}  // namespace learn::cli
