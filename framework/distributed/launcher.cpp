#include "framework/distributed/launcher.h"

#include "framework/core/environment.h"
#include "framework/core/error.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

namespace learn {
namespace {

/// The variables of one launcher.
struct Variables {
  const char* launcher;
  const char* rank;
  const char* ranks;
  const char* local_rank;
};

constexpr std::array kOfMpi{
    Variables{
        "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    Variables{"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"},
    Variables{"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
};

/// The number that a variable holds; nothing if it is not set, or holds no number.
std::optional<int> number_in(const char* variable) {
  const char* const text = environment(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits(text);
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

/// Throws UsageError for numbers that no launcher sets.
void check_numbers(const Variables& variables, const Launcher& found) {
  check<UsageError>(found.rank >= 0 && found.rank < found.ranks.value_or(found.rank + 1),
                    "{}={} contradicts {}: a rank is at least 0 and below the number of processes. "
                    "Start the program by one launcher, or unset these variables",
                    variables.rank,
                    found.rank,
                    found.variable);
  const int local = found.local_rank.value_or(0);
  check<UsageError>(local >= 0 && local < found.ranks.value_or(local + 1),
                    "{}={} contradicts {}: a rank of a host is at least 0 and below the number of "
                    "processes. Start the program by one launcher, or unset these variables",
                    variables.local_rank,
                    local,
                    found.variable);
}

std::optional<Launcher> launcher_by(const Variables& variables) {
  const std::optional<int> rank = number_in(variables.rank);
  const std::optional<int> ranks = number_in(variables.ranks);
  if (!rank && !ranks) return std::nullopt;
  check<UsageError>(rank || *ranks == 1,
                    "{} is {}, but {} is not set, and a launcher sets both. Start the program by a "
                    "launcher, or unset {}",
                    variables.ranks,
                    ranks.value_or(0),
                    variables.rank,
                    variables.ranks);
  Launcher found{.name = variables.launcher,
                 .rank = rank.value_or(0),
                 .ranks = ranks,
                 .local_rank = number_in(variables.local_rank)};
  found.variable = ranks ? fmt::format("{}={}", variables.ranks, *ranks)
                         : fmt::format("{}={}", variables.rank, found.rank);
  check_numbers(variables, found);
  return found;
}

/// Only version 4 sets the first variable. Version 5 kills at once, whatever is set.
std::optional<Grace> grace_of_open_mpi() {
  if (environment("OMPI_MCA_orte_app_num") == nullptr) return std::nullopt;
  return Grace{.seconds = number_in("OMPI_MCA_odls_base_sigkill_timeout").value_or(2),
               .setting = "mpirun's option --mca odls_base_sigkill_timeout"};
}

/// The step of a Slurm job that this process is a task of.
std::optional<Launcher> slurm_step() {
  if (!number_in("SLURM_STEP_ID") || !number_in("SLURM_PROCID")) return std::nullopt;
  return launcher_by(
      {.launcher = "Slurm",
       .rank = "SLURM_PROCID",
       // Old versions do not set the first of these.
       .ranks = number_in("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS",
       .local_rank = "SLURM_LOCALID"});
}

/// `srun --mpi=pmix` and PMIx's own launcher. Only Slurm also gives the number of processes.
std::optional<Launcher> launcher_by_pmix(const std::optional<Launcher>& slurm) {
  const std::optional<int> rank = number_in("PMIX_RANK");
  if (!rank) return std::nullopt;
  if (slurm && slurm->rank == *rank) {
    Launcher found = *slurm;
    found.name = "PMIx";
    return found;
  }
  Launcher found{.name = "PMIx", .rank = *rank};
  found.variable = fmt::format("PMIX_RANK={}", *rank);
  check<UsageError>(*rank >= 0,
                    "{}: a rank is at least 0. Start the program by a launcher, or unset PMIX_RANK",
                    found.variable);
  return found;
}

/// The port where rank 0 listens.
int meeting_port(const std::string& variable) {
  constexpr int kLast = 65535;
  const int port = number_in("MASTER_PORT").value_or(0);
  check<UsageError>(port > 0 && port <= kLast,
                    "{}, but MASTER_PORT is not a port, 1 to {}: set it to the same free port of "
                    "rank 0's host for all processes, start them by torchrun, or unset WORLD_SIZE",
                    variable,
                    kLast);
  // The agent listens at this port itself; its users share its store, which only PyTorch reads.
  const char* const taken = environment("TORCHELASTIC_USE_AGENT_STORE");
  if (taken == nullptr || taken != std::string_view("True")) return port;
  return port < kLast ? port + 1 : port - 1;
}

/// torchrun, or another launcher that sets the variables of PyTorch.
std::optional<Launcher> torchrun(const std::optional<Launcher>& slurm) {
  const int ranks = number_in("WORLD_SIZE").value_or(1);
  if (ranks <= 1) return std::nullopt;
  // Scripts of Slurm jobs set WORLD_SIZE for the sake of PyTorch, and srun starts the processes.
  if (slurm && slurm->ranks == ranks && number_in("RANK").value_or(slurm->rank) == slurm->rank)
    return std::nullopt;
  std::optional<Launcher> found = launcher_by(
      {.launcher = "torchrun", .rank = "RANK", .ranks = "WORLD_SIZE", .local_rank = "LOCAL_RANK"});
  const char* const host = environment("MASTER_ADDR");
  check<UsageError>(host != nullptr,
                    "{}, but MASTER_ADDR is not set: set it to rank 0's host for all processes, "
                    "start them by torchrun, or unset WORLD_SIZE",
                    found->variable);
  const char* const job = environment("TORCHELASTIC_RUN_ID");
  found->meeting = {
      .host = host, .port = meeting_port(found->variable), .job = job != nullptr ? job : ""};
  return found;
}

}  // namespace

std::string Launcher::text() const {
  return ranks ? fmt::format("{} as rank {} of {}", name, rank, *ranks)
               : fmt::format("{} as rank {}", name, rank);
}

std::optional<Launcher> find_launcher() {
  // Its agent is often a task of Slurm or of an MPI, whose variables its ranks inherit.
  if (environment("TORCHELASTIC_RUN_ID") != nullptr)
    if (std::optional<Launcher> found = torchrun(std::nullopt)) return found;
  for (const Variables& variables : kOfMpi)
    if (std::optional<Launcher> found = launcher_by(variables)) {
      if (&variables == kOfMpi.data()) found->grace = grace_of_open_mpi();
      return found;
    }
  const std::optional<Launcher> slurm = slurm_step();
  std::optional<Launcher> pmix = launcher_by_pmix(slurm);
  if (pmix && pmix->several()) return pmix;
  if (std::optional<Launcher> found = torchrun(slurm)) return found;
  if (pmix) return pmix;
  return slurm && slurm->several() ? slurm : std::nullopt;
}

}  // namespace learn
