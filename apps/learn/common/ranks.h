#pragma once
#include "framework/core/error.h"
#include "framework/distributed/communicator.h"

#include <chrono>
#include <string>
#include <string_view>

namespace learn::cli {

/// Throws UsageError if a launcher (mpirun, srun) started several processes, or as `find_launcher`
/// does. `what` cannot be divided among them: "learn eval".
void check_one_process(const std::string& what);
/// Connects this process with the others that a launcher (mpirun, srun) started with it. Returns
/// null, and does nothing, if it started only this one. Other ranks than 0 print nothing from then
/// on except the error that ends them. Returns the connection if it is already open. Throws as
/// `find_launcher` and `open_communicator` do.
Communicator* open_ranks(std::chrono::milliseconds deadline);
/// Whether this process is rank 0, or the only one, without ranks.
[[nodiscard]] inline bool is_first(const Communicator* ranks) noexcept {
  return ranks == nullptr || ranks->place().rank == 0;
}
/// Ends the connection, after waiting for the other ranks, which do the same.
void close_ranks();
/// Prints the error that ends this process. If a launcher started several, names this one, and
/// waits so that an error of all is printed once; if they are connected, ends all of them with its
/// code. Returns the exit code otherwise.
int report_error(std::string_view what, ExitCode code) noexcept;

}  // namespace learn::cli
