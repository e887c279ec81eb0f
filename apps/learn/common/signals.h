#pragma once
#include <atomic>

namespace learn::cli {

/// A file beyond the limit of `ulimit -f` is an error from now on, and no end of the process.
void ignore_file_size_signal();

/// From now on the first SIGINT, SIGTERM, SIGUSR2 or SIGHUP is only recorded, so that the running
/// batch can be finished and a checkpoint written; a second one that is not SIGHUP ends the process
/// immediately with 128 + its number. (SIGHUP may come twice, from the terminal and from the
/// shell.) SIGHUP stays ignored if it was (nohup). SIGUSR1 requests a checkpoint. Writing to a
/// closed pipe is an error instead of a signal.
void catch_signals();
/// The signal that came first; 0 if none did.
[[nodiscard]] const std::atomic<int>& caught_signal() noexcept;
/// Whether SIGUSR1 was received since the last call.
[[nodiscard]] bool checkpoint_was_asked_for() noexcept;

}  // namespace learn::cli
