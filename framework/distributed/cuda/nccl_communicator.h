#pragma once
#include "framework/distributed/communicator.h"
#include "framework/distributed/cuda/nccl_session.h"
#include "framework/runtime/cuda/event.h"
#include "framework/runtime/cuda/runtime.h"

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace learn::cuda {

/// Communication by NCCL on device memory; see `device_communicator`. All work is on one stream,
/// which events order with the compute stream: the work waits for what has been computed when it is
/// enqueued, and `finish` makes later computation wait. In a capture of the compute stream the same
/// events take the work into the graph.
class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(Communicator& host, Runtime& runtime, std::chrono::milliseconds deadline);
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  [[nodiscard]] const RankPlace& place() const noexcept override { return host_.place(); }
  [[nodiscard]] const std::string& library() const noexcept override { return library_; }
  void set_purpose(std::string purpose) override;
  void keep(const Tensor& values) override;
  void begin_sum(const Tensor& values) override;
  void progress() override {}
  void finish() override;
  void gather_tensor(const Tensor& mine, std::span<const std::int64_t> counts, Tensor all) override;
  void broadcast_tensor(Tensor values, int from) override;
  void gather(std::span<const std::byte> mine,
              std::span<const std::size_t> sizes,
              std::span<std::byte> all) override;
  void broadcast(std::span<std::byte> values, int from) override;
  [[noreturn]] void end_all(ExitCode code) override;

 private:
  struct DestroyStream {
    void operator()(Stream stream) const noexcept;
  };
  struct Kept {
    Tensor memory;
    void* handle = nullptr;
  };
  /// Enqueues work after what has been enqueued on the compute stream.
  void enqueue(const char* name, FunctionRef<nccl::Result(nccl::Comm)> function);
  void check_device(const char* call, const Tensor& values) const;
  void forget_kept() noexcept;

  Communicator& host_;
  Runtime& runtime_;
  std::unique_ptr<std::remove_pointer_t<Stream>, DestroyStream> stream_;
  std::shared_ptr<NcclSession> session_;
  Event computed_, communicated_;
  bool pending_ = false;  // work that the compute stream does not wait for yet
  std::vector<Kept> kept_;
  std::string library_;
  int exceptions_;  // under way when this was made
};

[[nodiscard]] std::unique_ptr<Communicator> open_nccl(Communicator& host,
                                                      Runtime& runtime,
                                                      std::chrono::milliseconds deadline);

}  // namespace learn::cuda
