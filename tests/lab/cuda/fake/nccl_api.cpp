// NCCL without GPUs, between the processes of one machine.
#include "tests/lab/cuda/fake/device.h"
#include "tests/lab/cuda/fake/nccl_communicator.h"
#include "tests/lab/cuda/fake/nccl_faults.h"
#include "tests/lab/cuda/fake/nccl_functions.h"
#include "tests/lab/cuda/fake/stop.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

using namespace fakecuda;

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
  NcclCommunicator* comm = nullptr;
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

NcclResult refuse(NcclResult result, std::string text) {
  nccl_last_error() = std::move(text);
  return result;
}

NcclResult check_config(const NcclConfig* config) {
  if (config == nullptr) return nccl_success;
  if (config->magic != kNcclMagic || config->size < offsetof(NcclConfig, cga_cluster_size))
    return refuse(nccl_invalid_argument, "ncclConfig_t argument not initialized via initializer");
  if (config->blocking != kNcclUndefined && config->blocking != 0 && config->blocking != 1)
    return refuse(nccl_invalid_argument,
                  fmt::format("Invalid config blocking attribute value {}", config->blocking));
  return nccl_success;
}

/// Adds to the group, or executes as a group of one.
NcclResult call(const NcclOperation& operation, NcclCommunicator* handle, cudaStream_t stream) {
  const std::lock_guard guard(api_mutex());
  const std::string_view name = name_of(operation.call);
  NcclCommunicator& comm = NcclCommunicator::alive(handle, name);
  if (const NcclResult error = comm.check_idle(name); error != nccl_success) return error;
  Group& all = group();
  if (all.depth == 0) return comm.issue({operation}, stream);
  if (!all.operations.empty() && (all.comm != &comm || all.stream != stream))
    stop("rank {}: {}: groups of several streams or communicators are not modelled",
         comm.rank(),
         name);
  all.comm = &comm;
  all.stream = stream;
  all.operations.push_back(operation);
  return nccl_success;
}

void check_version(std::string_view name, int version) {
  if (nccl_faults::version() < version)
    stop("{} is called, which the library has since version {}, but it has version {}",
         name,
         version,
         nccl_faults::version());
}

}  // namespace

// The names are NCCL's.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

NcclResult ncclGetVersion(int* version) {
  *version = nccl_faults::version();
  return nccl_success;
}

const char* ncclGetErrorString(NcclResult result) {
  switch (result) {
    case nccl_success:
      return "no error";
    case nccl_unhandled_cuda_error:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case nccl_system_error:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case nccl_internal_error:
      return "internal error - please report this issue to the NCCL developers";
    case nccl_invalid_argument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case nccl_invalid_usage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case nccl_remote_error:
      return "remote process exited or there was a network error";
    case nccl_in_progress:
      return "NCCL operation in progress";
    case nccl_timeout:
      return "timeout";
  }
  return "unknown result code";
}

const char* ncclGetLastError(ncclComm_t) {
  const std::lock_guard guard(api_mutex());
  return nccl_last_error().c_str();
}

NcclResult ncclGetUniqueId(NcclId* id) {
  if (id == nullptr) stop("ncclGetUniqueId: the pointer is null");
  *id = NcclSegment::create();
  return nccl_success;
}

NcclResult ncclCommInitRankConfig(
    ncclComm_t* comm, int ranks, NcclId id, int rank, NcclConfig* config) {
  const std::lock_guard guard(api_mutex());
  if (comm == nullptr) stop("ncclCommInitRankConfig: the pointer is null");
  check_no_group("ncclCommInitRankConfig");
  *comm = nullptr;
  if (ranks > NcclSegment::kMaxRanks)
    stop("NCCL: {} ranks are not modelled, at most {}", ranks, NcclSegment::kMaxRanks);
  if (ranks < 1 || rank < 0 || rank >= ranks)
    return refuse(nccl_invalid_argument,
                  fmt::format("Invalid rank requested : {}/{}", rank, ranks));
  if (const NcclResult error = check_config(config); error != nccl_success) return error;
  NcclCommunicator& made = NcclCommunicator::create(
      ranks, rank, current_device(), config == nullptr || config->blocking != 0);
  made.join(id);
  *comm = &made;
  if (!made.blocking()) return nccl_in_progress;
  const NcclResult result = made.wait();
  if (result != nccl_success) {
    made.abort();
    *comm = nullptr;
  }
  return result;
}

NcclResult ncclCommInitRank(ncclComm_t* comm, int ranks, NcclId id, int rank) {
  return ncclCommInitRankConfig(comm, ranks, id, rank, nullptr);
}

NcclResult ncclCommGetAsyncError(ncclComm_t comm, NcclResult* error) {
  const std::lock_guard guard(api_mutex());
  if (error == nullptr) stop("ncclCommGetAsyncError: the pointer is null");
  *error = NcclCommunicator::alive(comm, "ncclCommGetAsyncError").poll();
  return nccl_success;
}

NcclResult ncclCommFinalize(ncclComm_t handle) {
  const std::lock_guard guard(api_mutex());
  check_no_group("ncclCommFinalize");
  NcclCommunicator& comm = NcclCommunicator::alive(handle, "ncclCommFinalize");
  if (const NcclResult error = comm.check_idle("ncclCommFinalize"); error != nccl_success)
    return error;
  comm.finalize();
  return comm.blocking() ? comm.wait() : nccl_in_progress;
}

NcclResult ncclCommDestroy(ncclComm_t handle) {
  const std::lock_guard guard(api_mutex());
  check_no_group("ncclCommDestroy");
  if (handle == nullptr) return nccl_success;
  NcclCommunicator& comm = NcclCommunicator::alive(handle, "ncclCommDestroy");
  (void)comm.check_idle("ncclCommDestroy");  // an error does not hinder it
  comm.destroy();
  return nccl_success;
}

NcclResult ncclCommAbort(ncclComm_t handle) {
  const std::lock_guard guard(api_mutex());
  if (handle == nullptr) return nccl_success;
  NcclCommunicator& comm = NcclCommunicator::alive(handle, "ncclCommAbort");
  if (group().comm == &comm) group().operations.clear();
  comm.abort();
  return nccl_success;
}

NcclResult ncclCommCount(ncclComm_t comm, int* count) {
  const std::lock_guard guard(api_mutex());
  *count = NcclCommunicator::alive(comm, "ncclCommCount").ranks();
  return nccl_success;
}

NcclResult ncclCommUserRank(ncclComm_t comm, int* rank) {
  const std::lock_guard guard(api_mutex());
  *rank = NcclCommunicator::alive(comm, "ncclCommUserRank").rank();
  return nccl_success;
}

NcclResult ncclCommRegister(ncclComm_t handle, void* buffer, std::size_t bytes, void** registered) {
  const std::lock_guard guard(api_mutex());
  check_version("ncclCommRegister", 21900);
  NcclCommunicator& comm = NcclCommunicator::alive(handle, "ncclCommRegister");
  if (const NcclResult error = comm.check_idle("ncclCommRegister"); error != nccl_success)
    return error;
  *registered = comm.register_memory(buffer, bytes);
  return nccl_success;
}

NcclResult ncclCommDeregister(ncclComm_t comm, void* registered) {
  const std::lock_guard guard(api_mutex());
  check_version("ncclCommDeregister", 21900);
  NcclCommunicator::alive(comm, "ncclCommDeregister").deregister_memory(registered);
  return nccl_success;
}

NcclResult ncclAllReduce(const void* send,
                         void* receive,
                         std::size_t count,
                         NcclType type,
                         int operation,
                         ncclComm_t comm,
                         cudaStream_t stream) {
  if (operation != kNcclSum) stop("ncclAllReduce: operation {} is not modelled", operation);
  return call({NcclCall::all_reduce, send, receive, count, type}, comm, stream);
}

NcclResult ncclAllGather(const void* send,
                         void* receive,
                         std::size_t count,
                         NcclType type,
                         ncclComm_t comm,
                         cudaStream_t stream) {
  return call({NcclCall::all_gather, send, receive, count, type}, comm, stream);
}

NcclResult ncclBroadcast(const void* send,
                         void* receive,
                         std::size_t count,
                         NcclType type,
                         int root,
                         ncclComm_t handle,
                         cudaStream_t stream) {
  int ranks = 0;
  ncclCommCount(handle, &ranks);
  if (root < 0 || root >= ranks)
    stop("ncclBroadcast: root {} is not a rank; there are {} ranks", root, ranks);
  return call({NcclCall::broadcast, send, receive, count, type, root}, handle, stream);
}

NcclResult ncclGroupStart() {
  ++group().depth;
  return nccl_success;
}

NcclResult ncclGroupEnd() {
  const std::lock_guard guard(api_mutex());
  Group& all = group();
  if (all.depth == 0) stop("ncclGroupEnd is called without ncclGroupStart");
  if (--all.depth > 0 || all.operations.empty()) return nccl_success;
  NcclCommunicator& comm = NcclCommunicator::alive(all.comm, "ncclGroupEnd");
  return comm.issue(std::exchange(all.operations, {}), std::exchange(all.stream, nullptr));
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
