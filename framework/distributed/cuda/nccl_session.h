#pragma once
#include "framework/core/function_ref.h"
#include "framework/distributed/communicator.h"
#include "framework/distributed/cuda/nccl_api.h"
#include "framework/runtime/cuda/watch.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace learn::cuda {

/// A communicator of NCCL between all ranks, from its start to its end, and its failure. It is the
/// watch of the device: it finds errors that NCCL reports later, and waits that take too long: then
/// it aborts the communicator, which ends the work on the device, and every call and every wait
/// throws one RanksError from then on.
class NcclSession final : public Watch {
 public:
  /// Starts NCCL on the current device; all ranks do. `deadline` 0: never. Throws RanksError.
  NcclSession(Communicator& host, std::string device, std::chrono::milliseconds deadline);
  /// Aborts, unless the session is closed.
  ~NcclSession() override;
  NcclSession(const NcclSession&) = delete;
  NcclSession& operator=(const NcclSession&) = delete;

  /// For messages: "the gradients of batch 12".
  void set_purpose(std::string purpose);
  /// Makes a call, and waits until NCCL has enqueued its work: what the caller enqueues next comes
  /// after it. `name` is NCCL's, for messages. Throws RanksError.
  void call(const char* name, FunctionRef<nccl::Result(nccl::Comm)> function);
  /// Makes a call on the host communicator; after a RanksError the session has failed, too.
  void on_host(FunctionRef<void()> work);
  /// Throws the error of a failed session.
  void check_failed() const;
  void poll(std::chrono::steady_clock::duration waited) override;

  /// Ends the communicator after its work, together with the other ranks; waits for the deadline at
  /// most. Returns false, and logs it, if that fails; false for a session that has failed.
  [[nodiscard]] bool close() noexcept;
  /// Ends the work at once; waits throw an error with `reason` from then on.
  void abandon(std::string_view reason) noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  /// Waits until NCCL has done the call.
  void settle(const char* name, nccl::Result result);
  [[nodiscard]] bool late(Clock::duration waited) const;
  void abort() noexcept;
  /// Aborts, asks the other ranks, and throws.
  [[noreturn]] void fail_with(const std::string& text, bool late = false);
  /// The failure and, after it, ranks that do not answer or the failure that made this rank wait.
  [[nodiscard]] std::string with_other_ranks(const std::string& failure, bool late);
  /// Whether this is the thread of the host communicator.
  [[nodiscard]] bool on_owner() const;
  /// Ends a wait for ranks that are lost, as far as the host communicator notices it.
  void look_at_ranks();

  Communicator& host_;
  const std::string device_;
  const std::chrono::milliseconds deadline_;
  const std::thread::id owner_ = std::this_thread::get_id();
  mutable std::recursive_mutex mutex_;
  nccl::Comm comm_ = nullptr;
  std::string purpose_ = "the start of NCCL";
  Clock::time_point next_look_{};
  std::optional<std::string> failure_;
};

}  // namespace learn::cuda
