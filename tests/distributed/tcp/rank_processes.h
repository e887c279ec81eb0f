#pragma once
#include "framework/core/function_ref.h"
#include "framework/distributed/communicator_library.h"
#include "framework/distributed/tcp/tcp_communicator.h"

#include <chrono>
#include <string>
#include <vector>

namespace learn::testing {

/// The end of a process.
struct Ended {
  int code = 0;        ///< exit code; minus the signal that killed it
  std::string text{};  ///< of the error that its work threw
  double seconds = 0;  ///< since the start of all processes
};

/// The exit code for an exception that is not an Error.
inline constexpr int kOtherError = 99;

/// Runs `work(i)` in `count` processes, which exit with 0, or with the code of the error that it
/// throws. Waits for all of them. Kills those that are stopped (SIGSTOP) when all others have
/// ended, and all after 30 s.
[[nodiscard]] std::vector<Ended> run_processes(int count, FunctionRef<void(int)> work);

/// Checks that no process had an error.
void check_all_well(const std::vector<Ended>& ends);

/// Throws an exception with the text unless `ok`, for the work of a process.
void require(bool ok, const std::string& text);

/// A port of this host at which no process listens.
[[nodiscard]] int free_port();

/// The launcher of a rank that connects at 127.0.0.1.
[[nodiscard]] Launcher launcher_of(int rank, int ranks, int port);

/// Runs `work` in the processes of connected ranks, whose communicator is left by its destructor.
[[nodiscard]] std::vector<Ended> run_ranks(
    int ranks,
    FunctionRef<void(tcp::TcpCommunicator&)> work,
    std::chrono::milliseconds deadline = std::chrono::seconds(20));

}  // namespace learn::testing
