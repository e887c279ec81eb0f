#pragma once
#include "tests/lab/cuda/fake/nccl_functions.h"
#include "tests/lab/cuda/fake/selftest/buffer.h"
#include "tests/lab/cuda/fake/selftest/child.h"

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace fakecuda::selftest {

/// Meetings of the hosts of all ranks, in memory that their processes share.
struct Meetings {
  std::array<std::atomic<int>, 64> present;
};

/// Waits for the result of a call that is in progress. Ends the child with status 4 if it is an
/// error.
void ok(NcclResult result);
/// Ends the child with status 5 and the text unless `right`.
void demand(bool right, const std::string& text);

/// One of several processes with a communicator.
struct Rank {
  int rank = 0;
  int ranks = 0;
  nccl::UniqueId id{};
  Meetings* meetings = nullptr;
  int next_meeting = 0;
  ncclComm* comm = nullptr;

  void join();
  /// Without waiting for the others.
  void start_joining();
  /// Waits until all hosts are here.
  void meet();
  /// Polls until nothing is in progress.
  [[nodiscard]] NcclResult settle() const;
  void leave();

  void all_reduce(const float* send, float* receive, std::size_t count, cudaStream_t stream) const;
};

struct Setting {
  int ranks = 2;
  std::string schedule = "now";
  std::string faults;  ///< FAKE_NCCL, in addition to own_devices
};

/// Runs `body` in a process for each rank.
[[nodiscard]] std::vector<Outcome> run_ranks(const Setting& setting,
                                             const std::function<void(Rank&)>& body);
/// Each rank ends well, with 2, 3 and 4 ranks and each schedule; the seed is a random one.
void expect_right(const std::function<void(Rank&)>& body);
/// Some rank ends with the report, under each schedule, and none with another error.
void expect_report(const std::string& report,
                   const std::function<void(Rank&)>& body,
                   const std::string& faults = "");

/// Waits for the stream without blocking in the runtime; false if it takes longer.
[[nodiscard]] bool comes_to_an_end(cudaStream_t stream, int milliseconds);

/// Bytes of device memory that are not freed: the child ends by _exit.
template <class T>
T* device_values(const std::vector<T>& values) {
  void* p = nullptr;
  ok(cudaMalloc(&p, values.size() * sizeof(T)));
  ok(cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return static_cast<T*>(p);
}
template <class T>
T* device_memory(std::size_t n) {
  void* p = nullptr;
  ok(cudaMalloc(&p, n * sizeof(T)));
  return static_cast<T*>(p);
}
template <class T>
std::vector<T> host_values(const T* p, std::size_t n) {
  std::vector<T> values(n);
  ok(cudaDeviceSynchronize());
  ok(cudaMemcpy(values.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

}  // namespace fakecuda::selftest
