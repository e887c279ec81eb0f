#include "framework/distributed/cuda/nccl_communicator.h"

#include "framework/core/error.h"
#include "framework/distributed/cuda/nccl_library.h"
#include "framework/distributed/cuda/rank_devices.h"
#include "framework/runtime/cuda/api_error.h"

#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <numeric>

namespace learn::cuda {
namespace {

nccl::Type sum_type(const Tensor& values) {
  switch (values.dtype()) {
    case DType::f32:
      return nccl::Type::f32;
    case DType::f64:
      return nccl::Type::f64;
    case DType::f16:
      return nccl::Type::f16;
    case DType::bf16:
      return nccl::Type::bf16;
    default:
      fail<DTypeError>("a sum over ranks needs f32, f64, f16 or bf16, not {}", values.dtype());
  }
}

Stream make_stream(Runtime& runtime) {
  (void)runtime.compute();  // which makes the device current
  cudaStream_t stream = nullptr;
  check_api(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

std::shared_ptr<NcclSession> start(Communicator& host,
                                   Runtime& runtime,
                                   std::chrono::milliseconds deadline) {
  check_devices(gather_from_all(host, rank_device(host.place(), runtime.device())));
  return std::make_shared<NcclSession>(host, fmt::format("cuda:{}", runtime.device()), deadline);
}

}  // namespace

void NcclCommunicator::DestroyStream::operator()(Stream stream) const noexcept {
  (void)cudaStreamDestroy(stream);
}

NcclCommunicator::NcclCommunicator(Communicator& host,
                                   Runtime& runtime,
                                   std::chrono::milliseconds deadline)
    : host_(host),
      runtime_(runtime),
      stream_(make_stream(runtime)),
      session_(start(host, runtime, deadline)),
      library_(fmt::format("NCCL {}", nccl::version_text(nccl::api().version))),
      exceptions_(std::uncaught_exceptions()) {
  set_watch(runtime.device(), session_, {runtime.compute(), stream_.get()});
}

NcclCommunicator::~NcclCommunicator() {
  if (std::uncaught_exceptions() != exceptions_) session_->abandon("an error ended its work");
  forget_kept();
  if (session_->close())
    set_watch(runtime_.device(), nullptr, {});
  else  // memory may hold incomplete sums
    set_watch(runtime_.device(), session_, {runtime_.compute()});
}

void NcclCommunicator::set_purpose(std::string purpose) {
  session_->set_purpose(purpose);
  host_.set_purpose(std::move(purpose));
}

void NcclCommunicator::check_device(const char* call, const Tensor& values) const {
  check<DeviceError>(values.device() == Device::cuda(runtime_.device()),
                     "{}: the ranks communicate on cuda:{}, the tensor is on {}",
                     call,
                     runtime_.device(),
                     values.device());
}

void NcclCommunicator::enqueue(const char* name, FunctionRef<nccl::Result(nccl::Comm)> function) {
  session_->check_failed();
  computed_.record(runtime_.compute());
  computed_.hold_back(stream_.get());
  pending_ = true;
  session_->call(name, function);
}

void NcclCommunicator::keep(const Tensor& values) {
  check_device("keep", values);
  if (std::ranges::any_of(kept_, [&](const Kept& kept) {
        return kept.memory.raw() == values.raw() && kept.memory.bytes() == values.bytes();
      }))
    return;
  Kept kept{values};
  if (nccl::api().comm_register != nullptr && nccl::api().comm_deregister != nullptr &&
      values.bytes() > 0)
    session_->call("ncclCommRegister", [&](nccl::Comm comm) {
      return nccl::api().comm_register(comm, kept.memory.raw(), kept.memory.bytes(), &kept.handle);
    });
  kept_.push_back(std::move(kept));
}

void NcclCommunicator::forget_kept() noexcept {
  for (const Kept& kept : kept_) {
    if (kept.handle == nullptr) continue;
    try {
      session_->call("ncclCommDeregister", [&](nccl::Comm comm) {
        return nccl::api().comm_deregister(comm, kept.handle);
      });
    } catch (const RanksError&) {
      return;  // the session keeps the error
    }
  }
}

void NcclCommunicator::begin_sum(const Tensor& values) {
  check(values.shape().rank() == 1, "a sum over ranks needs the shape (n), not {}", values.shape());
  check_device("begin_sum", values);
  const nccl::Type type = sum_type(values);
  if (values.elements() == 0) return;
  enqueue("ncclAllReduce", [&, memory = Tensor(values)](nccl::Comm comm) mutable {
    return nccl::api().all_reduce(memory.raw(),
                                  memory.raw(),
                                  static_cast<std::size_t>(memory.elements()),
                                  type,
                                  nccl::Op::sum,
                                  comm,
                                  stream_.get());
  });
}

void NcclCommunicator::finish() {
  session_->check_failed();
  if (!pending_) return;
  communicated_.record(stream_.get());
  communicated_.hold_back(runtime_.compute());
  pending_ = false;
}

void NcclCommunicator::gather_tensor(const Tensor& mine,
                                     std::span<const std::int64_t> counts,
                                     Tensor all) {
  const auto rank = static_cast<std::size_t>(place().rank);
  check(counts.size() == static_cast<std::size_t>(place().ranks) &&
            counts[rank] == mine.elements() && mine.dtype() == all.dtype() &&
            std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) == all.elements(),
        "gather_tensor: {} counts for {} ranks, {} {} of this rank and {} {} of all do not fit",
        counts.size(),
        place().ranks,
        mine.elements(),
        mine.dtype(),
        all.elements(),
        all.dtype());
  check_device("gather_tensor", mine);
  check_device("gather_tensor", all);
  if (all.elements() == 0) return;
  // The bytes of any type: gathering does not compute.
  const std::size_t size = size_of(mine.dtype());
  const bool equal = std::all_of(
      counts.begin(), counts.end(), [&](std::int64_t count) { return count == mine.elements(); });
  if (equal) {
    enqueue("ncclAllGather", [&](nccl::Comm comm) {
      return nccl::api().all_gather(
          mine.raw(), all.raw(), mine.bytes(), nccl::Type::u8, comm, stream_.get());
    });
  } else {
    enqueue("a group of ncclBroadcast", [&](nccl::Comm comm) {
      nccl::Result result = nccl::api().group_start();
      std::byte* to = all.raw();
      for (std::size_t from = 0; from < counts.size(); ++from) {
        const std::size_t bytes = static_cast<std::size_t>(counts[from]) * size;
        if (bytes > 0 && result == nccl::Result::success)
          result = nccl::api().broadcast(from == rank ? mine.raw() : to,
                                         to,
                                         bytes,
                                         nccl::Type::u8,
                                         static_cast<int>(from),
                                         comm,
                                         stream_.get());
        if (result == nccl::Result::in_progress) result = nccl::Result::success;  // group_end's
        to += bytes;
      }
      const nccl::Result end = nccl::api().group_end();
      return result == nccl::Result::success ? end : result;
    });
  }
  finish();
}

void NcclCommunicator::broadcast_tensor(Tensor values, int from) {
  check(from >= 0 && from < place().ranks,
        "broadcast_tensor: rank {} of {} does not exist",
        from,
        place().ranks);
  check_device("broadcast_tensor", values);
  if (values.elements() == 0) return;
  enqueue("ncclBroadcast", [&](nccl::Comm comm) {
    return nccl::api().broadcast(
        values.raw(), values.raw(), values.bytes(), nccl::Type::u8, from, comm, stream_.get());
  });
  finish();
}

void NcclCommunicator::gather(std::span<const std::byte> mine,
                              std::span<const std::size_t> sizes,
                              std::span<std::byte> all) {
  session_->on_host([&] { host_.gather(mine, sizes, all); });
}

void NcclCommunicator::broadcast(std::span<std::byte> values, int from) {
  session_->on_host([&] { host_.broadcast(values, from); });
}

void NcclCommunicator::end_all(ExitCode code) {
  session_->abandon("it ends all ranks");
  host_.end_all(code);
  std::_Exit(static_cast<int>(code));  // g++ does not see that a virtual function does not return
}

std::unique_ptr<Communicator> open_nccl(Communicator& host,
                                        Runtime& runtime,
                                        std::chrono::milliseconds deadline) {
  return std::make_unique<NcclCommunicator>(host, runtime, deadline);
}

}  // namespace learn::cuda
