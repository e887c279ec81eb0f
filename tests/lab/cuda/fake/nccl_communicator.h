#pragma once
#include "tests/lab/cuda/fake/nccl_collective.h"
#include "tests/lab/cuda/fake/nccl_segment.h"

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
  /// Starts to join.
  NcclCommunicator(const nccl::UniqueId& id, int ranks, int rank);
  /// The communicator lives as long as the process, so that its use after its end is found.
  static ncclComm& create(const nccl::UniqueId& id, int ranks, int rank);
  /// Stops unless `comm` is a communicator that was neither destroyed nor aborted.
  static NcclCommunicator& alive(const ncclComm* comm, std::string_view call);

  [[nodiscard]] int ranks() const { return static_cast<int>(segment_.ranks().size()); }
  /// Stops while an earlier call is in progress. Returns the error of the communicator.
  [[nodiscard]] NcclResult check_idle(std::string_view call) const;
  /// Completes what is in progress, if it can be. Returns the state, as ncclCommGetAsyncError.
  NcclResult poll();

  [[nodiscard]] NcclResult issue(const std::vector<NcclOperation>& operations, cudaStream_t stream);
  [[nodiscard]] NcclResult finalize();
  void destroy();
  void abort();

  void* register_memory(void* p, std::size_t bytes);
  void deregister_memory(void* handle);

  /// Whether the device has to work for other ranks, or for the end of this one.
  [[nodiscard]] bool others_wait() const;

 private:
  /// A call that has returned before it was done.
  struct Call {
    std::string_view name;
    std::function<bool()> complete;  ///< false if it has to wait
  };

  [[nodiscard]] bool is_busy() const { return launched_ != finished_; }
  void fail(NcclResult error, std::string text);
  void enqueue_batch(const std::shared_ptr<const NcclBatch>& batch, cudaStream_t stream);
  void note_launch(const NcclBatch& batch);
  /// The device executes a batch; false if it has to wait.
  bool execute(const NcclBatch& batch);
  [[nodiscard]] bool may_post(const NcclBatch& batch);
  [[nodiscard]] bool all_posted(const NcclBatch& batch) const;

  int rank_;
  int device_;
  bool connected_ = false;
  bool finalized_ = false;
  std::string_view ended_by_;  ///< ncclCommDestroy or ncclCommAbort; empty: it is alive
  NcclResult error_ = kNcclSuccess;
  std::optional<Call> in_progress_;
  NcclSegment segment_;
  std::map<void*, void*> registered_;

  cudaStream_t stream_ = nullptr;  ///< of the last batch
  std::uint64_t launched_ = 0;
  std::uint64_t finished_ = 0;

  // State of the device.
  const NcclBatch* running_ = nullptr;
  std::uint64_t number_ = 0;  ///< of the running batch, or the last one
  std::chrono::steady_clock::time_point begun_;
};

/// Text for ncclGetLastError.
[[nodiscard]] inline std::string& nccl_last_error() {
  static auto& text = *new std::string;
  return text;
}

}  // namespace fakecuda

/// A communicator by NCCL's name.
struct ncclComm final : fakecuda::NcclCommunicator {  // NOLINT(readability-identifier-naming)
  using NcclCommunicator::NcclCommunicator;
};
