#include "framework/distributed/mpi/call_queue.h"

#include "framework/core/error.h"
#include "framework/core/fnv1a.h"
#include "framework/distributed/rank_texts.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace learn::mpi {
namespace {

/// The call of a rank as a text of fixed size.
using Description = std::array<char, 1200>;

constexpr std::chrono::seconds kComparisonTime{10};

}  // namespace

void CallQueue::post(CallPlan plan) {
  const std::uint64_t hash = fnv1a_words(plan.signature);
  Call& call = calls_.emplace_back(Call{.plan = std::move(plan), .extremes = {hash, ~hash}});
  check_mpi(MPI_Iallreduce(MPI_IN_PLACE,
                           call.extremes.data(),
                           static_cast<int>(call.extremes.size()),
                           MPI_UINT64_T,
                           MPI_MIN,
                           session_.announcements(),
                           &call.announcement),
            "MPI_Iallreduce");
}

bool CallQueue::advance() {
  bool moved = false;
  for (Call& call : calls_) {
    int done = 0;
    if (!call.running) {
      check_mpi(MPI_Test(&call.announcement, &done, MPI_STATUS_IGNORE), "MPI_Test");
      // Data must start in the same order on all ranks, so the next calls wait for this one.
      if (done == 0) break;
      if (call.extremes[0] != ~call.extremes[1]) refuse(call);
      call.plan.start(call.requests);
      call.running = true;
      moved = true;
    }
    if (call.requests.empty()) continue;
    check_mpi(MPI_Testall(static_cast<int>(call.requests.size()),
                          call.requests.data(),
                          &done,
                          MPI_STATUSES_IGNORE),
              "MPI_Testall");
    if (done == 0) continue;
    call.requests.clear();
    moved = true;
  }
  while (!calls_.empty() && calls_.front().running && calls_.front().requests.empty())
    calls_.pop_front();
  return moved;
}

void CallQueue::refuse(const Call& call) {
  Description own{};
  const std::string text = fmt::format("{}, {}", call.plan.what, call.plan.purpose);
  std::copy_n(text.begin(), std::min(text.size(), own.size() - 1), own.begin());
  std::vector<Description> all(static_cast<std::size_t>(session_.place().ranks));
  MPI_Request request = MPI_REQUEST_NULL;
  constexpr int kBytes = static_cast<int>(sizeof(Description));
  // Every rank finds the difference at the same announcement, so all of them come to this.
  check_mpi(
      MPI_Iallgather(
          own.data(), kBytes, MPI_BYTE, all.data(), kBytes, MPI_BYTE, session_.notes(), &request),
      "MPI_Iallgather");
  const auto begin = std::chrono::steady_clock::now();
  for (int done = 0; done == 0 && std::chrono::steady_clock::now() - begin < kComparisonTime;) {
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const auto other =
      std::find_if(all.begin(), all.end(), [&](const Description& a) { return a != all.front(); });
  RankCall a{session_.place().name(), text};
  RankCall b{"another rank", "something else"};
  if (request == MPI_REQUEST_NULL && other != all.end()) {
    a = {ranks_text({0}, session_.hosts()), all.front().data()};
    b = {ranks_text({static_cast<int>(other - all.begin())}, session_.hosts()), other->data()};
  }
  fail<RanksError>("{}", difference_text(a, b));
}

}  // namespace learn::mpi
