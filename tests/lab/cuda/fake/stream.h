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

/// A recursive mutex that a thread can release completely while it waits for another process.
class ApiMutex {
 public:
  void lock();
  void unlock();
  /// Lets other threads in for a moment; the caller holds the mutex before and after.
  void let_others_in();

 private:
  std::recursive_mutex mutex_;
  int depth_ = 0;
};

/// Every entry point of the runtime holds this.
[[nodiscard]] ApiMutex& api_mutex();

/// Puts `work` on the stream, or into the graph that is being captured from it. `work` runs when
/// its turn comes, alone, and uses device_memory.h for its operands.
void enqueue(cudaStream_t stream, std::string what, std::function<void()> work);

/// Work of the device that may have to wait for other processes: returns false as long as it does,
/// and is then called again, so that neither the host nor other streams wait with it.
struct DeviceWork {
  std::function<bool()> run;
  /// Not null for work that other processes wait for. The host calls it at each launch of a graph.
  std::function<void()> launched;
};
void enqueue(cudaStream_t stream, std::string what, DeviceWork work);

struct Capture;

/// One thing in a queue: work, or a wait for an event, or the record of one.
struct Task {
  std::string what;
  DeviceWork work;
  cudaEvent_t wait = nullptr;
  cudaEvent_t record = nullptr;
  std::uint64_t version = 0;
  bool leftover = false;  ///< a collective was aborted since: its operands may be incomplete
};

/// Returns the stream of a handle; the legacy default stream for null. Stops for an invalid handle.
[[nodiscard]] CUstream_st& stream_of(cudaStream_t handle);
[[nodiscard]] CUevent_st& event_of(cudaEvent_t handle);
[[nodiscard]] cudaStream_t create_stream(bool blocking);
void destroy_stream(cudaStream_t handle);
/// Everything that is enqueued now may read what an aborted collective has not written.
void mark_leftovers();
[[nodiscard]] cudaEvent_t create_event();
void destroy_event(cudaEvent_t handle);

void push(CUstream_st& stream, Task task);

enum class Progress { none, waits, made };
/// Runs the first task of the stream: `none` if the queue is empty, `waits` if that task waits for
/// other processes.
Progress run_one(CUstream_st& stream);
/// These return when all is done, however long other processes take. Meanwhile other threads of
/// this one may call the runtime.
void drain(CUstream_st& stream);
void drain_event(CUevent_st& event, std::uint64_t version);
void drain_all();
/// Runs all that can be run without waiting.
void advance_all();
/// Runs streams that hold work other processes wait for, up to that work, until `satisfied`.
void advance_to_shared_work(const std::function<bool()>& satisfied);

}  // namespace fakecuda

struct CUstream_st {
  bool blocking = false;  ///< ordered with the legacy default stream
  int device = 0;
  bool destroyed = false;  ///< by the program, while its work waits for other processes
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
