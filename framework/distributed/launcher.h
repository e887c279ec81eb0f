#pragma once
#include <optional>
#include <string>

namespace learn {

/// Time that a launcher gives processes from SIGTERM to SIGKILL.
struct Grace {
  int seconds = 0;
  std::string setting;  ///< for messages: the option or variable that changes it
};

/// The place where the ranks of a launcher that does not start MPI connect: rank 0 listens there.
struct Meeting {
  std::string host;
  int port = 0;
  std::string job;  ///< its name, the same on all ranks; may be empty
};

/// A launcher (mpirun, srun, ...) that started this process, by the variables that it sets.
struct Launcher {
  std::string name;               ///< "Open MPI", "MVAPICH", "MPICH", "PMIx", "Slurm" or "torchrun"
  int rank = 0;                   ///< of this process
  std::optional<int> ranks;       ///< number of processes, if known; then `rank` is below it
  std::optional<int> local_rank;  ///< among the processes of this host, if known
  std::string variable;           ///< with its value, for messages: "OMPI_COMM_WORLD_SIZE=4"
  std::optional<Grace> grace;     ///< if known, and short
  /// Set for torchrun, and for others that set the variables of PyTorch.
  std::optional<Meeting> meeting;

  /// Whether this process is one of several, as far as the variables show it.
  [[nodiscard]] bool several() const noexcept { return ranks.value_or(rank + 1) > 1; }
  /// For messages: "Open MPI as rank 0 of 4".
  [[nodiscard]] std::string text() const;
};

/// Finds the launcher of this process, or none. Variables of an MPI take precedence over Slurm's,
/// because those may describe the whole job. The script of a Slurm job without a step has no
/// launcher, and neither has the only task of a step. Values that are not numbers are ignored.
///
/// WORLD_SIZE above 1 without another launcher is torchrun's. If its agent listens at MASTER_PORT
/// (TORCHELASTIC_USE_AGENT_STORE), the ranks connect at the next port. With TORCHELASTIC_RUN_ID,
/// which only torchrun sets, its variables take precedence over all others.
///
/// Throws UsageError for a number of processes without a rank, for a rank that is not below it, and
/// for WORLD_SIZE without the host and the port of rank 0.
[[nodiscard]] std::optional<Launcher> find_launcher();

}  // namespace learn
