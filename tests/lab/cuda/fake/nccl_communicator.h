#pragma once
#include "tests/lab/cuda/fake/device_memory.h"
#include "tests/lab/cuda/fake/nccl_collective.h"
#include "tests/lab/cuda/fake/nccl_segment.h"
#include "tests/lab/cuda/fake/stream.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fakecuda {

/// One rank of a communicator. Callers hold api_mutex().
///
/// A collective is work of a stream that waits on the device until all ranks have come to theirs;
/// enqueueing one never waits, as with the real library. A thread of each process with a
/// communicator lets the streams get on while the host does something else: under the schedule
/// `now` always, otherwise up to the collectives that other ranks are waiting in.
class NcclCommunicator {
 public:
  /// Registers the communicator, which then lives as long as the process, for reports of its use
  /// after its end.
  static NcclCommunicator& create(int ranks, int rank, int device, bool blocking);
  /// Stops unless `comm` is a communicator that was neither destroyed nor aborted.
  static NcclCommunicator& alive(NcclCommunicator* comm, std::string_view call);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] bool blocking() const { return blocking_; }
  /// Stops while an earlier call is in progress. Returns the error of the communicator.
  [[nodiscard]] NcclResult check_idle(std::string_view call) const;

  void join(const NcclId& id);
  /// Stops after finalize.
  [[nodiscard]] NcclResult issue(std::vector<NcclOperation> operations, cudaStream_t stream);
  /// Completes what is in progress, if it can be. Returns the state, as ncclCommGetAsyncError.
  NcclResult poll();
  /// Polls as long as something is in progress, with other threads let in.
  NcclResult wait();
  void finalize();
  void destroy();
  void abort();

  void* register_memory(void* p, std::size_t bytes);
  void deregister_memory(void* handle);

  /// One turn of the thread that lets streams get on.
  static void let_devices_work();

 private:
  enum class State { joining, ready, issuing, closing, closed, destroyed, aborted };

  NcclCommunicator(int ranks, int rank, int device, bool blocking);
  [[nodiscard]] bool is_alive() const;
  [[nodiscard]] bool others_wait() const;
  void fail(NcclResult error, std::string text);
  void check_stream(const NcclBatch& batch, cudaStream_t stream);
  void enqueue_batch(const std::shared_ptr<const NcclBatch>& batch, cudaStream_t stream);
  void note_launch(const NcclBatch& batch);
  /// The device executes a batch; false if it has to wait.
  bool execute(const NcclBatch& batch);
  [[nodiscard]] bool may_post(const NcclBatch& batch);
  [[nodiscard]] bool all_posted(const NcclBatch& batch) const;

  int rank_;
  int ranks_;
  int device_;
  bool blocking_;
  State state_ = State::joining;
  NcclResult error_ = nccl_success;
  std::unique_ptr<NcclSegment> segment_ = std::make_unique<NcclSegment>();
  std::map<void*, Range> registered_;

  bool issued_before_ = false;
  std::shared_ptr<const NcclBatch> pending_;  ///< of state `issuing`
  std::shared_ptr<Capture> pending_capture_;  ///< that it belongs to
  cudaStream_t stream_ = nullptr;             ///< of the last batch
  std::uint64_t launched_ = 0;
  std::uint64_t finished_ = 0;

  // State of the device.
  const NcclBatch* running_ = nullptr;
  bool posted_ = false;
  std::uint64_t number_ = 0;  ///< of the running batch, or the last one
  std::chrono::steady_clock::time_point begun_;
};

/// Text for ncclGetLastError.
[[nodiscard]] std::string& nccl_last_error();

}  // namespace fakecuda
