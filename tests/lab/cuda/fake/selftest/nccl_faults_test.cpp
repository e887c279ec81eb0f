// Misuse of NCCL that its fake must find, and faults that it commits on demand.
#include "tests/lab/cuda/fake/selftest/kernels.h"
#include "tests/lab/cuda/fake/selftest/nccl_ranks.h"
#include "tests/lab/cuda/fake/stop.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

using namespace fakecuda;
using namespace fakecuda::selftest;

namespace {

constexpr std::size_t kCount = 37;

/// A rank with a stream and memory.
struct Use {
  explicit Use(Rank& the_rank) : rank(the_rank) { rank.join(); }
  void sum() const { rank.all_reduce(x, y, kCount, stream); }

  Rank& rank;
  OwnStream stream;
  float* x = device_values(std::vector<float>(kCount, 1));
  float* y = device_memory<float>(4 * kCount);
};

void expect_misuse(const std::string& report,
                   const std::function<void(const Use&)>& misuse,
                   const std::string& faults = "") {
  expect_report(
      report,
      [&](Rank& rank) {
        const Use use(rank);
        misuse(use);
        ok(cudaStreamSynchronize(use.stream));
        // Reports of other ranks end them only when they have come here, too.
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      },
      faults);
}

/// Under each schedule, either a report of the kind or other bits than the right ones.
void expect_race(const std::string& report, const std::function<void(const Use&)>& body) {
  int found = 0;
  for (const std::string schedule : {"now", "late", "rand:1", "rand:2"})
    for (const Outcome& outcome :
         run_ranks({.schedule = schedule}, [&](Rank& rank) { body(Use(rank)); })) {
      CAPTURE(outcome.text);
      const bool reported = outcome.status == kFaultStatus;
      if (reported) CHECK(outcome.text.find(report) != std::string::npos);
      found += outcome.status != 0 ? 1 : 0;
    }
  CAPTURE(report);
  CHECK(found > 0);
}

}  // namespace

TEST_CASE("ranks that call different collectives are found") {
  expect_misuse(
      "collective 1 is ncclAllReduce of 37 f32 on rank 0 and ncclAllGather of 37 f32 on rank 1",
      [](const Use& use) {
        if (use.rank.rank == 0) return use.sum();
        ok(ncclAllGather(use.x, use.y, kCount, kNcclF32, use.rank.comm, use.stream));
      });
  expect_misuse("collective 2 is ncclAllReduce of 37 f32 on rank 0 and ncclAllReduce of 36 f32",
                [](const Use& use) {
                  const auto missing = static_cast<std::size_t>(use.rank.rank);
                  use.sum();
                  use.rank.all_reduce(use.x, use.y, kCount - missing, use.stream);
                });
  expect_misuse("f32 on rank 0 and ncclAllReduce of 37 f16 on rank 1", [](const Use& use) {
    const NcclType type = use.rank.rank == 0 ? kNcclF32 : kNcclF16;
    ok(ncclAllReduce(use.x, use.y, kCount, type, kNcclSum, use.rank.comm, use.stream));
  });
  expect_misuse(
      "from rank 0 on rank 0 and ncclBroadcast of 37 f32 from rank 1 on rank 1",
      [](const Use& use) {
        ok(ncclBroadcast(use.x, use.y, kCount, kNcclF32, use.rank.rank, use.rank.comm, use.stream));
      });
  expect_misuse("collective 1 is a group of ncclAllReduce of 37 f32, ncclAllReduce of 37 f32",
                [](const Use& use) {
                  if (use.rank.rank == 0) ok(ncclGroupStart());
                  use.sum();
                  use.rank.all_reduce(use.x, use.y + kCount, kCount, use.stream);
                  if (use.rank.rank == 0) ok(ncclGroupEnd());
                });
}

TEST_CASE("a rank with fewer collectives is found") {
  expect_report("waits in its collective 1, ncclAllReduce of 37 f32, and rank 1 has finalized",
                [](Rank& rank) {
                  const Use use(rank);
                  if (rank.rank == 1) return ok(ncclCommDestroy(rank.comm));
                  use.sum();
                  ok(cudaStreamSynchronize(use.stream));
                });
}

TEST_CASE("wrong operands are found") {
  expect_misuse("rank 1: ncclAllReduce of 37 f32: send buffer is null",
                [](const Use& use) { use.rank.all_reduce(nullptr, use.y, kCount, use.stream); });
  expect_misuse("receive buffer: 152 bytes at byte 0 leave their allocation of 148",
                [](const Use& use) { use.rank.all_reduce(use.y, use.x, kCount + 1, use.stream); });
  expect_misuse("host memory", [](const Use& use) {
    const float host[kCount] = {};
    use.rank.all_reduce(host, use.y, kCount, use.stream);
  });
  expect_misuse("send buffer: reads byte 0 of 148, which was not written",
                [](const Use& use) { use.rank.all_reduce(use.y, use.y, kCount, use.stream); });
  expect_misuse("no multiple of 4 bytes", [](const Use& use) {
    const auto* const odd =
        reinterpret_cast<const float*>(reinterpret_cast<const char*>(use.x) + 1);
    use.rank.all_reduce(odd, use.y, 1, use.stream);
  });
  expect_misuse("overlaps the receive buffer, but is not in place",
                [](const Use& use) { use.rank.all_reduce(use.y, use.y + 1, kCount, use.stream); });
  expect_misuse("in the same group", [](const Use& use) {
    ok(ncclGroupStart());
    use.sum();
    use.sum();
    ok(ncclGroupEnd());
  });
  expect_misuse("root 2 is not a rank", [](const Use& use) {
    ok(ncclBroadcast(use.x, use.y, kCount, kNcclF32, 2, use.rank.comm, use.stream));
  });
  expect_misuse("the memory was freed before", [](const Use& use) {
    void* handle = nullptr;
    ok(ncclCommRegister(use.rank.comm, use.y, kCount, &handle));
    ok(cudaFree(use.y));
    ok(ncclCommDeregister(use.rank.comm, handle));
  });
}

TEST_CASE("streams of another device are found") {
  expect_misuse("the stream is one of device 1, the communicator of device 0", [](const Use& use) {
    setenv("FAKE_CUDA_DEVICES", "2", 1);
    ok(cudaSetDevice(1));
    cudaStream_t other = nullptr;
    ok(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    use.rank.all_reduce(use.x, use.y, kCount, other);
  });
}

TEST_CASE("calls at the wrong time are found") {
  expect_misuse("ncclAllReduce is called after ncclCommDestroy", [](const Use& use) {
    ok(ncclCommDestroy(use.rank.comm));
    use.sum();
  });
  expect_misuse("ncclAllReduce is called after ncclCommAbort", [](const Use& use) {
    ok(ncclCommAbort(use.rank.comm));
    use.sum();
  });
  expect_misuse("ncclAllReduce is called after ncclCommFinalize", [](const Use& use) {
    ok(ncclCommFinalize(use.rank.comm));
    use.sum();
  });
  expect_misuse("ncclCommGetAsyncError: the communicator is null", [](const Use&) {
    ok(ncclCommAbort(nullptr));  // which is legal
    ok(ncclCommDestroy(nullptr));
    NcclResult error = kNcclSuccess;
    ok(ncclCommGetAsyncError(nullptr, &error));
  });
  expect_misuse("ncclCommFinalize is called twice", [](const Use& use) {
    ok(ncclCommFinalize(use.rank.comm));
    ok(ncclCommFinalize(use.rank.comm));
  });
  expect_misuse(
      "on two streams at once are not modelled",
      [](const Use& use) {
        const OwnStream other;
        use.sum();
        use.rank.all_reduce(use.x, use.y + kCount, kCount, other);
      },
      "hang:1");
  expect_misuse("is not a handle of ncclCommRegister",
                [](const Use& use) { ok(ncclCommDeregister(use.rank.comm, use.y)); });
  expect_misuse("ncclGroupEnd is called without ncclGroupStart",
                [](const Use&) { ok(ncclGroupEnd()); });
  expect_misuse("ends with 1 groups that were not ended", [](const Use& use) {
    std::thread([&] {
      ok(ncclGroupStart());
      use.sum();
    }).join();
  });
  expect_misuse("a graph with ncclAllReduce of 37 f32 is launched after", [](const Use& use) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    ok(cudaStreamBeginCapture(use.stream, cudaStreamCaptureModeThreadLocal));
    use.sum();
    ok(cudaStreamEndCapture(use.stream, &graph));
    ok(cudaGraphInstantiate(&exec, graph, 0));
    ok(ncclCommAbort(use.rank.comm));
    ok(cudaGraphLaunch(exec, use.stream));
  });
  expect_report("ncclAllReduce is called while ncclCommInitRankConfig is in progress",
                [](Rank& rank) {
                  rank.start_joining();
                  float* const x = device_values(std::vector<float>{1});
                  rank.all_reduce(x, x, 1, nullptr);
                });
  expect_report("ncclCommFinalize is called while ncclAllReduce is in progress", [](Rank& rank) {
    rank.start_joining();
    ok(rank.settle());
    float* const x = device_values(std::vector<float>{1});
    ncclAllReduce(x, x, 1, kNcclF32, kNcclSum, rank.comm, nullptr);
    ncclCommFinalize(rank.comm);
  });
}

TEST_CASE("ranks that start in different ways are found") {
  expect_report("rank 0 joins twice with one id", [](Rank& rank) {
    rank.rank = 0;
    rank.start_joining();
  });
  expect_report(" ranks, another one ", [](Rank& rank) {
    rank.ranks += rank.rank;
    rank.start_joining();
  });
  expect_report("the id was not made by ncclGetUniqueId", [](Rank& rank) {
    rank.id = {};
    rank.start_joining();
  });
  expect_report("communicators that block are not modelled",
                [](Rank& rank) { ncclCommInitRankConfig(&rank.comm, 2, rank.id, 0, nullptr); });
}

TEST_CASE("a capture that ends before its first collective is issued is found") {
  expect_report("ncclAllReduce of 1 f32: the capture has ended or begun", [](Rank& rank) {
    rank.start_joining();
    ok(rank.settle());
    const OwnStream stream;
    float* const x = device_values(std::vector<float>{1});
    cudaGraph_t graph = nullptr;
    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    ncclAllReduce(x, x, 1, kNcclF32, kNcclSum, rank.comm, stream);
    ok(cudaStreamEndCapture(stream, &graph));
    ok(rank.settle());
  });
}

TEST_CASE("other work on the memory of a collective is found") {
  expect_race("which was not written",
              [](const Use& use) {  // the sum does not wait for its operand
                const OwnStream compute;
                float* const z = device_memory<float>(kCount);
                ok(cudaMemcpyAsync(z, use.x, kCount * 4, cudaMemcpyDeviceToDevice, compute));
                use.rank.all_reduce(z, use.y, kCount, use.stream);
                ok(cudaDeviceSynchronize());
              });
  expect_race("not written", [](const Use& use) {  // the reader does not wait for the sum
    if (use.rank.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const OwnStream compute;
    float* const z = device_values(std::vector<float>(kCount, 0));
    use.sum();
    accumulate(compute, use.y, z, kCount);
    ok(cudaDeviceSynchronize());
  });
  expect_race("is written by other work while the collective runs", [](const Use& use) {
    const OwnStream compute;
    if (use.rank.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    use.rank.all_reduce(use.x, use.x, kCount, use.stream);
    ok(cudaMemsetAsync(use.x, 0, kCount * 4, compute));
    ok(cudaStreamSynchronize(use.stream));
  });
}

TEST_CASE("two ranks on one device are refused") {
  const auto outcomes = run_ranks({}, [](Rank& rank) {
    setenv("FAKE_NCCL", "", 1);
    rank.start_joining();
    demand(rank.settle() == kNcclInvalidUsage, "no error");
    demand(std::string(ncclGetLastError(rank.comm))
                   .find("Duplicate GPU detected : rank 0 and rank 1") == 0,
           ncclGetLastError(rank.comm));
    ok(ncclCommAbort(rank.comm));
  });
  for (const Outcome& outcome : outcomes) {
    CAPTURE(outcome.text);
    CHECK(outcome.status == 0);
  }
}

TEST_CASE("an abort ends collectives that hang or fail and the device gets on") {
  struct Case {
    std::string fault;
    NcclResult error;
  };
  for (const Case& one : {Case{"hang:2@1", kNcclSuccess},
                          Case{"remote:2@1", kNcclRemoteError},
                          Case{"timeout:2", kNcclTimeout},
                          Case{"killed", kNcclSuccess}})
    for (const std::string schedule : {"now", "late", "rand:3"}) {
      const bool killed = one.fault == "killed";
      const auto outcomes =
          run_ranks({.schedule = schedule, .faults = killed ? "" : one.fault}, [&](Rank& rank) {
            const Use use(rank);
            use.sum();
            ok(cudaStreamSynchronize(use.stream));
            rank.meet();
            if (killed && rank.rank == 1) raise(SIGKILL);
            rank.all_reduce(use.x, use.x, kCount, use.stream);
            demand(!comes_to_an_end(use.stream, 100), "the collective ends");
            NcclResult error = kNcclSuccess;
            ok(ncclCommGetAsyncError(rank.comm, &error));
            const bool faulty = one.fault.find('@') == std::string::npos || rank.rank == 1;
            demand(error == (faulty ? one.error : kNcclSuccess), "the error");
            ok(ncclCommAbort(rank.comm));
            demand(comes_to_an_end(use.stream, 10'000), "the stream hangs after the abort");
            ok(cudaMemsetAsync(use.y, 0, 4, use.stream));
            ok(cudaStreamSynchronize(use.stream));
            std::fprintf(stderr, "alive\n");
            accumulate(use.stream, use.x, use.y, 1);  // reads what the abort has left
            ok(cudaStreamSynchronize(use.stream));
          });
      CAPTURE(one.fault);
      CAPTURE(schedule);
      for (const Outcome& outcome : outcomes) {
        CAPTURE(outcome.text);
        if (killed && &outcome == &outcomes[1]) {
          CHECK(outcome.status == 128 + SIGKILL);
          continue;
        }
        CHECK(outcome.status == kFaultStatus);
        CHECK(outcome.text.find("alive\n") == 0);
        CHECK(outcome.text.find("was not written") != std::string::npos);
      }
    }
}

TEST_CASE("another thread aborts a collective that the host waits for") {
  for (const std::string schedule : {"now", "late"})
    for (const Outcome& outcome :
         run_ranks({.schedule = schedule, .faults = "hang:1"}, [](Rank& rank) {
           const Use use(rank);
           use.sum();
           std::thread watch([&] {
             std::this_thread::sleep_for(std::chrono::milliseconds(100));
             ok(ncclCommAbort(rank.comm));
           });
           ok(cudaStreamSynchronize(use.stream));
           watch.join();
         })) {
      CAPTURE(outcome.text);
      CHECK(outcome.status == 0);
    }
}

TEST_CASE("slow ranks and old libraries and failures to start") {
  const auto expect_ends_well = [](const std::string& faults,
                                   const std::function<void(Rank&)>& body) {
    for (const Outcome& outcome : run_ranks({.faults = faults}, body)) {
      CAPTURE(faults);
      CAPTURE(outcome.text);
      CHECK(outcome.status == 0);
    }
  };
  expect_ends_well("slow:100@1", [](Rank& rank) {
    const Use use(rank);
    const auto start = std::chrono::steady_clock::now();
    use.sum();
    ok(cudaStreamSynchronize(use.stream));
    demand(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(90), "not slow");
    rank.leave();
  });
  expect_ends_well("version:21700", [](Rank&) {
    int version = 0;
    ok(ncclGetVersion(&version));
    demand(version == 21700, "the version");
  });
  expect_ends_well("system@1", [](Rank& rank) {
    rank.start_joining();
    if (rank.rank == 0) return ok(ncclCommAbort(rank.comm));
    demand(rank.settle() == kNcclSystemError, "no error");
    demand(std::string(ncclGetLastError(rank.comm)).find("Connection refused") != std::string::npos,
           "the text");
    ok(ncclCommAbort(rank.comm));
  });
  expect_ends_well("", [](Rank& rank) {  // the process that made the id has ended
    std::strcpy(rank.id.bytes, "/proc/99999999/fd/3");
    rank.start_joining();
    demand(rank.settle() == kNcclSystemError, "no error");
    demand(std::string(ncclGetLastError(rank.comm)).find("cannot be reached") != std::string::npos,
           "the text");
    ok(ncclCommAbort(rank.comm));
  });
  expect_misuse(
      "ncclCommRegister is called, which the library has since 2.19, but it is 21800",
      [](const Use& use) {
        void* handle = nullptr;
        ok(ncclCommRegister(use.rank.comm, use.x, 4, &handle));
      },
      "version:21800");
  expect_misuse(
      "FAKE_NCCL has 'hang'; known: hang:K", [](const Use&) {}, "hang");
}
