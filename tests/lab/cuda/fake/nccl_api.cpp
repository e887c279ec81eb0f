// NCCL without GPUs, between the processes of one machine.
#include "tests/lab/cuda/fake/nccl_communicator.h"
#include "tests/lab/cuda/fake/nccl_faults.h"
#include "tests/lab/cuda/fake/nccl_functions.h"
#include "tests/lab/cuda/fake/stop.h"
#include "tests/lab/cuda/fake/stream.h"

#include <array>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

using namespace fakecuda;
using nccl::Op, nccl::Type;

namespace {

/// Calls of a thread between ncclGroupStart and ncclGroupEnd.
struct Group {
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() {
    if (depth > 0) stop("NCCL: a thread ends with {} groups that were not ended", depth);
  }

  int depth = 0;
  ncclComm* comm = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<NcclOperation> operations;
};

Group& group() {
  static thread_local Group the_group;
  return the_group;
}

void check_no_group(std::string_view call) {
  if (group().depth > 0) stop("{} in a group is not modelled", call);
}

NcclResult refuse(std::string text) {
  nccl_last_error() = std::move(text);
  return kNcclInvalidArgument;
}

/// Calls `use` with the communicator, or returns its error. Stops if it is not alive, or while an
/// earlier call is in progress.
template <class Use>
NcclResult when_idle(ncclComm* handle, std::string_view call, Use use) {
  const std::lock_guard guard(api_mutex());
  NcclCommunicator& comm = NcclCommunicator::alive(handle, call);
  const NcclResult error = comm.check_idle(call);
  return error == kNcclSuccess ? use(comm) : error;
}

/// Adds to the group, or executes as a group of one.
NcclResult call(const NcclOperation& operation, ncclComm* handle, cudaStream_t stream) {
  return when_idle(handle, operation.call, [&](NcclCommunicator& comm) {
    if (operation.from >= comm.ranks())
      stop("{}: root {} is not a rank", operation.call, operation.from);
    Group& all = group();
    if (all.depth == 0) return comm.issue({operation}, stream);
    if (!all.operations.empty() && (all.comm != handle || all.stream != stream))
      stop("{}: groups of several streams or communicators are not modelled", operation.call);
    all.comm = handle;
    all.stream = stream;
    all.operations.push_back(operation);
    return kNcclSuccess;
  });
}

int version() { return static_cast<int>(nccl_fault("version").value_or(23203)); }

}  // namespace

// The names are NCCL's.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

NcclResult ncclGetVersion(int* to) {
  *to = version();
  return kNcclSuccess;
}

const char* ncclGetErrorString(NcclResult result) {
  constexpr std::array kTexts{"no error",
                              "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
                              "unhandled system error (run with NCCL_DEBUG=INFO for details)",
                              "internal error - please report this issue to the NCCL developers",
                              "invalid argument (run with NCCL_DEBUG=WARN for details)",
                              "invalid usage (run with NCCL_DEBUG=WARN for details)",
                              "remote process exited or there was a network error",
                              "NCCL operation in progress",
                              "timeout"};
  const auto number = static_cast<std::size_t>(result);
  return number < kTexts.size() ? kTexts[number] : "unknown result code";
}

const char* ncclGetLastError(ncclComm*) {
  const std::lock_guard guard(api_mutex());
  return nccl_last_error().c_str();
}

NcclResult ncclGetUniqueId(nccl::UniqueId* id) {
  if (id == nullptr) stop("ncclGetUniqueId: the pointer is null");
  *id = NcclSegment::create();
  return kNcclSuccess;
}

NcclResult ncclCommInitRankConfig(
    ncclComm** comm, int ranks, nccl::UniqueId id, int rank, nccl::Config* config) {
  const std::lock_guard guard(api_mutex());
  if (comm == nullptr) stop("ncclCommInitRankConfig: the pointer is null");
  check_no_group("ncclCommInitRankConfig");
  *comm = nullptr;
  if (ranks > NcclSegment::kMaxRanks)
    stop("NCCL: {} ranks are not modelled, at most {}", ranks, NcclSegment::kMaxRanks);
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return refuse(fmt::format("Invalid rank requested : {}/{}", rank, ranks));
  if (config != nullptr &&
      (config->magic != kNcclMagic || config->size < offsetof(nccl::Config, cga_cluster_size)))
    return refuse("ncclConfig_t argument not initialized via initializer");
  if (config == nullptr || config->blocking != 0)
    stop("ncclCommInitRankConfig: communicators that block are not modelled");
  *comm = &NcclCommunicator::create(id, ranks, rank);
  return kNcclInProgress;
}

NcclResult ncclCommGetAsyncError(ncclComm* comm, NcclResult* error) {
  const std::lock_guard guard(api_mutex());
  if (error == nullptr) stop("ncclCommGetAsyncError: the pointer is null");
  *error = NcclCommunicator::alive(comm, "ncclCommGetAsyncError").poll();
  return kNcclSuccess;
}

NcclResult ncclCommFinalize(ncclComm* handle) {
  check_no_group("ncclCommFinalize");
  return when_idle(
      handle, "ncclCommFinalize", [](NcclCommunicator& comm) { return comm.finalize(); });
}

NcclResult ncclCommDestroy(ncclComm* handle) {
  const std::lock_guard guard(api_mutex());
  check_no_group("ncclCommDestroy");
  if (handle == nullptr) return kNcclSuccess;
  NcclCommunicator& comm = NcclCommunicator::alive(handle, "ncclCommDestroy");
  (void)comm.check_idle("ncclCommDestroy");  // an error does not hinder it
  comm.destroy();
  return kNcclSuccess;
}

NcclResult ncclCommAbort(ncclComm* handle) {
  const std::lock_guard guard(api_mutex());
  if (handle == nullptr) return kNcclSuccess;
  NcclCommunicator& comm = NcclCommunicator::alive(handle, "ncclCommAbort");
  if (group().comm == handle) group().operations.clear();
  comm.abort();
  return kNcclSuccess;
}

NcclResult ncclCommRegister(ncclComm* handle, void* buffer, std::size_t bytes, void** registered) {
  if (version() < 21900)
    stop("ncclCommRegister is called, which the library has since 2.19, but it is {}", version());
  return when_idle(handle, "ncclCommRegister", [&](NcclCommunicator& comm) {
    *registered = comm.register_memory(buffer, bytes);
    return kNcclSuccess;
  });
}

NcclResult ncclCommDeregister(ncclComm* comm, void* registered) {
  const std::lock_guard guard(api_mutex());
  NcclCommunicator::alive(comm, "ncclCommDeregister").deregister_memory(registered);
  return kNcclSuccess;
}

NcclResult ncclAllReduce(
    const void* from, void* to, size_t n, Type type, Op op, ncclComm* comm, cudaStream_t stream) {
  if (op != kNcclSum) stop("ncclAllReduce: operation {} is not modelled", static_cast<int>(op));
  return call({"ncclAllReduce", NcclOperation::kSumOfAll, from, to, n, type}, comm, stream);
}

NcclResult ncclAllGather(
    const void* from, void* to, size_t n, Type type, ncclComm* comm, cudaStream_t stream) {
  return call({"ncclAllGather", NcclOperation::kEachRank, from, to, n, type}, comm, stream);
}

NcclResult ncclBroadcast(
    const void* from, void* to, size_t n, Type type, int root, ncclComm* comm, cudaStream_t on) {
  if (root < 0) stop("ncclBroadcast: root {} is not a rank", root);
  return call({"ncclBroadcast", root, from, to, n, type}, comm, on);
}

NcclResult ncclGroupStart() {
  ++group().depth;
  return kNcclSuccess;
}

NcclResult ncclGroupEnd() {
  const std::lock_guard guard(api_mutex());
  Group& all = group();
  if (all.depth == 0) stop("ncclGroupEnd is called without ncclGroupStart");
  if (--all.depth > 0 || all.operations.empty()) return kNcclSuccess;
  NcclCommunicator& comm = NcclCommunicator::alive(all.comm, "ncclGroupEnd");
  return comm.issue(std::exchange(all.operations, {}), std::exchange(all.stream, nullptr));
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
