#pragma once
#include "framework/core/error.h"
#include "framework/core/function_ref.h"
#include "framework/distributed/communicator.h"

#include <chrono>
#include <cstddef>

namespace learn::testing {

struct RankThreadsOptions {
  /// How long a rank waits for the others.
  std::chrono::milliseconds deadline{30'000};
};

/// Ends a rank's thread: `end_all` throws it.
struct RankEnded {
  ExitCode code;
};

/// Traffic of a rank.
struct RankTraffic {
  std::size_t sums = 0;
  std::size_t summed_bytes = 0;
  std::size_t gathers = 0;
};

/// A communicator between threads of this process, for tests. Sums add in the order of ranks. Calls
/// that differ between ranks, in kind or size, are a RanksError on all of them.
class ThreadCommunicator : public Communicator {
 public:
  [[nodiscard]] virtual const RankTraffic& traffic() const noexcept = 0;
};

/// Runs `work` in `ranks` threads and waits for all. Rethrows the exception that made the others
/// end.
void run_ranks(int ranks,
               FunctionRef<void(ThreadCommunicator&)> work,
               const RankThreadsOptions& options = {});

}  // namespace learn::testing
