#pragma once
#include "framework/distributed/communicator.h"
#include "framework/distributed/launcher.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace learn {

struct CommunicatorOptions {
  /// How long a rank waits for the others before it ends with a RanksError; 0: for ever.
  std::chrono::milliseconds deadline{300'000};
  /// MPI divides longer messages; at most 1 GiB. Must be equal on all ranks.
  std::size_t max_message_bytes = std::size_t{1} << 30U;
};

/// Makes the communicator of the ranks that `launcher` started, and waits for all of them: over TCP
/// for torchrun, which can only sum on GPUs; otherwise by MPI, with `liblearn_mpi.so`. MPI needs a
/// third of a second for it, so call it in a process that a launcher started. Only the calling
/// thread may use the result, which must not outlive `main`; a process opens one at most. Its
/// destructor waits for the other ranks, but not while an error propagates; if one is missing, it
/// logs that and calls `end_all`.
///
/// Throws UsageError if the library or the MPI that it needs is missing, is of another version, or
/// counts other ranks than the launcher, and if rank 0 cannot listen at torchrun's port; RanksError
/// if MPI fails, or a rank of torchrun does not come within the deadline. If one does not come to
/// the start of MPI within it, ends the process with the code of a RanksError, because nothing can
/// interrupt that wait.
[[nodiscard]] std::unique_ptr<Communicator> open_communicator(
    const Launcher& launcher, const CommunicatorOptions& options = {});

/// The ranks that a launcher started together with this process; null, without any work, if it
/// started only this one, or without a launcher. The first call opens the communicator with its
/// options, and the end of the process closes it, after waiting for the other ranks. Throws as
/// `find_launcher` and `open_communicator` do.
[[nodiscard]] Communicator* ranks_of_process(const CommunicatorOptions& options = {});

/// Closes that communicator before the end of the process, after waiting for the other ranks, which
/// do the same. It must not be used any more, and it cannot be opened again.
void leave_ranks();

/// The MPI that `open_communicator` would use.
struct MpiReport {
  std::string library;  ///< "Open MPI 4.1.4"; empty if it cannot be loaded
  std::string file;     ///< `liblearn_mpi.so` with its path
  std::string reason;   ///< why it cannot be loaded, and what to install
};

/// Loads `liblearn_mpi.so`, and does not start MPI.
[[nodiscard]] MpiReport mpi_report();

/// Functions that the library exports: `learn_mpi_attach` makes it use the program's log and
/// returns the version of its sources, which must be the program's; then the others may be
/// called: `learn_mpi_name` returns the name of the MPI, and `learn_mpi_open` starts it.
using AttachMpiLibrary = const char*(const std::shared_ptr<void>& log);
using NameMpiLibrary = void(std::string& name);
using OpenMpiCommunicator = void(const Launcher& launcher,
                                 const CommunicatorOptions& options,
                                 std::unique_ptr<Communicator>& opened);

}  // namespace learn
