#include "framework/distributed/mpi/session.h"

#include "framework/core/error.h"
#include "framework/core/host_name.h"
#include "framework/core/log.h"
#include "framework/distributed/mpi/texts.h"
#include "framework/distributed/rank_texts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace learn::mpi {
namespace {

/// Ends the process if it exists for longer than `deadline`: nothing else interrupts the start of
/// MPI, which waits for all ranks.
class StartWatch {
 public:
  StartWatch(const Launcher& launcher, std::chrono::milliseconds deadline) {
    if (deadline.count() == 0) return;
    thread_ = std::jthread([launcher, deadline](const std::stop_token& stop) {
      // The first rank that gives up prints the error, and the launcher ends the others.
      const auto time = deadline + std::chrono::milliseconds(1500) * std::min(launcher.rank, 2);
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any never;
      if (never.wait_for(lock, stop, time, [&] { return stop.stop_requested(); })) return;
      log::error(
          "[ranks] {}: not all processes of {} started MPI within {}: one of them hangs, "
          "or the network between the hosts is blocked",
          RankPlace{.rank = launcher.rank, .host = host_name()}.name(),
          launcher.name,
          seconds_text(deadline));
      log::flush();
      std::_Exit(static_cast<int>(ExitCode::ranks));
    });
  }

 private:
  std::jthread thread_;
};

/// Starts MPI if the program has not. Returns whether it did.
bool start() {
  int running = 0;
  check_mpi(MPI_Initialized(&running), "MPI_Initialized");
  int support = MPI_THREAD_SINGLE;
  if (running != 0) {
    int ended = 0;
    check_mpi(MPI_Finalized(&ended), "MPI_Finalized");
    check<UsageError>(
        ended == 0,
        "MPI has ended in this process and cannot start again: open one communicator, "
        "and keep it until the program ends");
    check_mpi(MPI_Query_thread(&support), "MPI_Query_thread");
  } else {
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &support), "MPI_Init_thread");
  }
  check<UsageError>(support >= MPI_THREAD_FUNNELED,
                    "this MPI does not support programs with several threads: build learn with "
                    "another MPI, or start MPI with MPI_THREAD_FUNNELED");
  return running == 0;
}

/// A copy of the world whose errors are returned.
MPI_Comm channel() {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &copy), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return copy;
}

std::vector<std::string> host_names(MPI_Comm communicator, int ranks) {
  using Name = std::array<char, MPI_MAX_PROCESSOR_NAME + 1>;
  Name own{};
  int length = 0;
  check_mpi(MPI_Get_processor_name(own.data(), &length), "MPI_Get_processor_name");
  std::vector<Name> names(static_cast<std::size_t>(ranks));
  constexpr int kBytes = static_cast<int>(sizeof(Name));
  check_mpi(
      MPI_Allgather(own.data(), kBytes, MPI_BYTE, names.data(), kBytes, MPI_BYTE, communicator),
      "MPI_Allgather");
  std::vector<std::string> texts;
  texts.reserve(names.size());
  for (const Name& name : names) texts.emplace_back(name.data());
  return texts;
}

}  // namespace

void check_mpi(int code, const char* function) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) text = {"unknown error"};
  fail<RanksError>("{} failed: {}", function, text.data());
}

std::string mpi_name() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> version{};
  int length = 0;
  check_mpi(MPI_Get_library_version(version.data(), &length), "MPI_Get_library_version");
  return library_name(version.data());
}

Session::Session(const Launcher& launcher, std::chrono::milliseconds deadline) {
  const StartWatch watch(launcher, deadline);
  started_here_ = start();
  if (started_here_)
    check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN),
              "MPI_Comm_set_errhandler");
  library_ = mpi_name();
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &place_.rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &place_.ranks), "MPI_Comm_size");
  check<UsageError>(
      place_.ranks == launcher.ranks.value_or(place_.ranks) && place_.rank == launcher.rank,
      "started by {}, but to {} this is rank {} of {}: is the launcher another MPI's? Use the "
      "mpirun "
      "of {}, or build learn with the MPI of the launcher",
      launcher.text(),
      library_,
      place_.rank,
      place_.ranks,
      library_);
  announcements_ = channel();
  data_ = channel();
  notes_ = channel();
  hosts_ = host_names(notes_, place_.ranks);
  place_.host = hosts_[static_cast<std::size_t>(place_.rank)];
  MPI_Comm neighbours = MPI_COMM_NULL;
  check_mpi(
      MPI_Comm_split_type(notes_, MPI_COMM_TYPE_SHARED, place_.rank, MPI_INFO_NULL, &neighbours),
      "MPI_Comm_split_type");
  check_mpi(MPI_Comm_rank(neighbours, &place_.local_rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(neighbours, &place_.local_ranks), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&neighbours), "MPI_Comm_free");
}

void Session::end() noexcept {
  for (MPI_Comm* const channel : {&announcements_, &data_, &notes_}) (void)MPI_Comm_free(channel);
  if (started_here_) (void)MPI_Finalize();
}

}  // namespace learn::mpi
