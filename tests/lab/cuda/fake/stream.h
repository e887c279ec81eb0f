#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

/// Streams are queues of work. The schedule, FAKE_CUDA_STREAMS in the environment, decides when it
/// runs:
///   now        immediately, as if the device were infinitely fast (the default)
///   late       only when something waits for it, and blocks of a grid in reverse order
///   rand:SEED  at random moments, and blocks in random order
/// A correct program gives the same bits under each.
namespace fakecuda {

enum class Order { now, late, random };

struct Schedule {
  Order order = Order::now;
  std::mt19937 random;
};
[[nodiscard]] Schedule& schedule();

/// Every entry point of the runtime holds this.
[[nodiscard]] std::recursive_mutex& api_mutex();

/// Puts `work` on the stream, or into the graph that is being captured from it. `work` runs when
/// its turn comes, alone, and uses device_memory.h for its operands.
void enqueue(cudaStream_t stream, std::string what, std::function<void()> work);

struct Capture;

/// One thing in a queue: work, or a wait for an event, or the record of one.
struct Task {
  std::string what;
  std::function<void()> run;
  cudaEvent_t wait = nullptr;
  cudaEvent_t record = nullptr;
  std::uint64_t version = 0;
};

/// Returns the stream of a handle; the legacy default stream for null. Stops for an invalid handle.
[[nodiscard]] CUstream_st& stream_of(cudaStream_t handle);
[[nodiscard]] CUevent_st& event_of(cudaEvent_t handle);
[[nodiscard]] cudaStream_t create_stream(bool blocking);
void destroy_stream(cudaStream_t handle);
[[nodiscard]] cudaEvent_t create_event();
void destroy_event(cudaEvent_t handle);

void push(CUstream_st& stream, Task task);
/// Runs the first task of the stream; false if there is none.
bool run_one(CUstream_st& stream);
void drain(CUstream_st& stream);
void drain_event(CUevent_st& event, std::uint64_t version);
void drain_all();

}  // namespace fakecuda

struct CUstream_st {
  bool blocking = false;  ///< ordered with the legacy default stream
  int device = 0;
  std::deque<fakecuda::Task> queue;
  std::shared_ptr<fakecuda::Capture> capture;
  std::vector<std::size_t> tips;  ///< nodes of the capture that the next one follows
};

struct CUevent_st {
  std::uint64_t recorded = 0;
  std::uint64_t done = 0;
  double milliseconds = 0;
  CUstream_st* stream = nullptr;
  std::shared_ptr<fakecuda::Capture> capture;  ///< of the last record, if it was captured
  std::vector<std::size_t> tips;
};
