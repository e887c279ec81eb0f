#pragma once
#include "framework/distributed/mpi/session.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace learn::mpi {

/// A collective call, before it is posted.
struct CallPlan {
  std::string what;     ///< for messages: "the sum of 3 f32 values"
  std::string purpose;  ///< "the gradients of batch 12"
  /// Numbers that must be equal on all ranks.
  std::vector<std::uint64_t> signature;
  /// Sends on the channel for data, and adds the requests.
  std::function<void(std::vector<MPI_Request>& requests)> start;
};

/// Collective calls in the order in which this rank makes them.
///
/// A call is announced first: MPI finds the least and the greatest hash of the ranks' signatures.
/// Only when all ranks have announced the same is its data sent. So a rank that makes another call,
/// or one of another size, is found before MPI overwrites memory or waits for ever; and a
/// rank that has not come differs from one that stops while data is under way.
class CallQueue {
 public:
  explicit CallQueue(const Session& session) : session_(session) {}

  void post(CallPlan plan);
  /// Advances all calls without waiting. Returns whether one of them made a visible step. Throws
  /// RanksError if ranks differ, and if MPI fails.
  bool advance();

  [[nodiscard]] bool empty() const noexcept { return calls_.empty(); }
  /// The oldest call that is not complete.
  [[nodiscard]] const CallPlan& oldest() const { return calls_.front().plan; }
  /// Whether all ranks have come to the oldest call.
  [[nodiscard]] bool all_came() const { return calls_.front().running; }

 private:
  struct Call {
    CallPlan plan;
    std::array<std::uint64_t, 2> extremes{};  // least hash, and complement of the greatest
    MPI_Request announcement = MPI_REQUEST_NULL;
    std::vector<MPI_Request> requests{};
    bool running = false;  // announced by all ranks, and started
  };
  [[noreturn]] void refuse(const Call& call);

  const Session& session_;
  std::deque<Call> calls_;  // MPI has addresses in them
};

}  // namespace learn::mpi
