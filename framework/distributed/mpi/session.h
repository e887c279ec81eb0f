#pragma once
#include "framework/distributed/communicator.h"
#include "framework/distributed/launcher.h"

#include <mpi.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace learn::mpi {

/// Throws RanksError with MPI's text, and the name of the function, unless `code` is success.
void check_mpi(int code, const char* function);

/// The MPI in use: "Open MPI 4.1.4". May be called before MPI starts.
[[nodiscard]] std::string mpi_name();

/// MPI in this process: its start, the place of this rank, and the channels between the ranks.
class Session {
 public:
  /// Starts MPI, unless the program has done so. Throws UsageError if MPI counts other ranks than
  /// the launcher, or cannot be started; RanksError if it fails. Ends the process with a message if
  /// the other ranks have not started theirs within `deadline`; 0: never.
  Session(const Launcher& launcher, std::chrono::milliseconds deadline);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  /// Does not end MPI: see `end`.
  ~Session() = default;

  [[nodiscard]] const RankPlace& place() const noexcept { return place_; }
  [[nodiscard]] std::span<const std::string> hosts() const noexcept { return hosts_; }
  [[nodiscard]] const std::string& library() const noexcept { return library_; }

  /// Announcements of collective calls.
  [[nodiscard]] MPI_Comm announcements() const noexcept { return announcements_; }
  /// Their data.
  [[nodiscard]] MPI_Comm data() const noexcept { return data_; }
  /// Notes between ranks that find that something is wrong.
  [[nodiscard]] MPI_Comm notes() const noexcept { return notes_; }

  /// Ends MPI, if the constructor started it. All ranks call it, with nothing under way.
  void end() noexcept;

 private:
  bool started_here_ = false;
  RankPlace place_;
  std::vector<std::string> hosts_;
  std::string library_;
  MPI_Comm announcements_ = MPI_COMM_NULL;
  MPI_Comm data_ = MPI_COMM_NULL;
  MPI_Comm notes_ = MPI_COMM_NULL;
};

}  // namespace learn::mpi
