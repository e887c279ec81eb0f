#include "tests/lab/cuda/fake/selftest/nccl_ranks.h"

#include "tests/lab/cuda/fake/stop.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

namespace fakecuda::selftest {
namespace {

std::string random_schedule() { return "rand:" + std::to_string(std::random_device{}() % 100'000); }

void pause() { std::this_thread::sleep_for(std::chrono::microseconds(100)); }

/// The communicator of this process.
ncclComm* own_comm = nullptr;

NcclResult settled(NcclResult result) {
  while (result == kNcclInProgress) {
    (void)ncclCommGetAsyncError(own_comm, &result);
    if (result == kNcclInProgress) pause();
  }
  return result;
}

}  // namespace

void ok(NcclResult result) {
  result = settled(result);
  if (result == kNcclSuccess) return;
  std::fprintf(stderr, "%s: %s\n", ncclGetErrorString(result), ncclGetLastError(nullptr));
  std::_Exit(4);
}

void demand(bool right, const std::string& text) {
  if (right) return;
  std::fprintf(stderr, "%s\n", text.c_str());
  std::_Exit(5);
}

void Rank::join() {
  start_joining();
  ok(settle());
}

void Rank::start_joining() {
  nccl::Config config;
  config.blocking = 0;
  demand(ncclCommInitRankConfig(&comm, ranks, id, rank, &config) == kNcclInProgress,
         "the start blocks");
  own_comm = comm;
}

void Rank::meet() {
  auto& here = meetings->present[static_cast<std::size_t>(next_meeting++)];
  ++here;
  while (here < ranks) pause();
}

NcclResult Rank::settle() const { return settled(kNcclInProgress); }

void Rank::leave() {
  ok(ncclCommFinalize(comm));
  ok(ncclCommDestroy(comm));
}

void Rank::all_reduce(const float* send,
                      float* receive,
                      std::size_t count,
                      cudaStream_t stream) const {
  ok(ncclAllReduce(send, receive, count, kNcclF32, kNcclSum, comm, stream));
}

std::vector<Outcome> run_ranks(const Setting& setting, const std::function<void(Rank&)>& body) {
  void* const memory =
      mmap(nullptr, sizeof(Meetings), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  Rank rank{.ranks = setting.ranks, .meetings = new (memory) Meetings{}};
  REQUIRE(ncclGetUniqueId(&rank.id) == kNcclSuccess);
  auto outcomes = in_children(
      setting.ranks,
      [&](int number) {
        alarm(30);
        setenv("FAKE_NCCL", ("own_devices," + setting.faults).c_str(), 1);
        rank.rank = number;
        body(rank);
        return 0;
      },
      setting.schedule);
  munmap(memory, sizeof(Meetings));
  return outcomes;
}

void expect_right(const std::function<void(Rank&)>& body) {
  for (const int ranks : {2, 3, 4})
    for (const std::string& schedule : {std::string("now"), std::string("late"), random_schedule()})
      for (const Outcome& outcome : run_ranks({.ranks = ranks, .schedule = schedule}, body)) {
        CAPTURE(ranks);
        CAPTURE(schedule);
        CAPTURE(outcome.text);
        CHECK(outcome.status == 0);
      }
}

void expect_report(const std::string& report,
                   const std::function<void(Rank&)>& body,
                   const std::string& faults) {
  for (const std::string& schedule : {std::string("now"), std::string("late"), random_schedule()}) {
    const auto outcomes = run_ranks({.schedule = schedule, .faults = faults}, body);
    std::string texts;
    for (const Outcome& outcome : outcomes)
      texts += std::to_string(outcome.status) + ": " + outcome.text + '\n';
    CAPTURE(schedule);
    CAPTURE(report);
    CAPTURE(texts);
    CHECK(std::any_of(outcomes.begin(), outcomes.end(), [&](const Outcome& outcome) {
      return outcome.status == kFaultStatus && outcome.text.find(report) != std::string::npos;
    }));
    CHECK(std::all_of(outcomes.begin(), outcomes.end(), [&](const Outcome& outcome) {
      return outcome.status == kFaultStatus || outcome.status == 0;
    }));
  }
}

bool comes_to_an_end(cudaStream_t stream, int milliseconds) {
  const auto start = std::chrono::steady_clock::now();
  while (cudaStreamQuery(stream) == cudaErrorNotReady) {
    if (std::chrono::steady_clock::now() - start > std::chrono::milliseconds(milliseconds))
      return false;
    pause();
  }
  return true;
}

}  // namespace fakecuda::selftest
