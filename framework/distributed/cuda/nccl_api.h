#pragma once
#include <climits>
#include <cstddef>

struct ncclComm;
struct CUstream_st;

/// NCCL's interface as this backend uses it, so that no header of NCCL is needed for the build.
/// tests/lab/cuda compares it with the header where there is one.
namespace learn::cuda::nccl {

using Comm = ::ncclComm*;

enum class Result : int {
  success = 0,
  unhandled_cuda_error = 1,
  remote_error = 6,
  in_progress = 7
};
enum class Type : int { u8 = 1, f16 = 6, f32 = 7, f64 = 8, bf16 = 9 };
enum class Op : int { sum = 0 };

struct UniqueId {
  char bytes[128];
};

/// ncclConfig_t of NCCL 2.18. Its first three members let newer libraries accept it.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = 0;
  int cga_cluster_size = INT_MIN;  ///< INT_MIN and null: NCCL chooses
  int min_ctas = INT_MIN;
  int max_ctas = INT_MIN;
  const char* net_name = nullptr;
  int split_share = INT_MIN;
  int traffic_class = INT_MIN;  ///< since 2.25; padding before
};

using GetVersion = Result(int* version);
using GetErrorString = const char*(Result result);
using GetLastError = const char*(Comm comm);
using GetUniqueId = Result(UniqueId* id);
using CommInitRankConfig = Result(Comm* comm, int ranks, UniqueId id, int rank, Config* config);
using CommGetAsyncError = Result(Comm comm, Result* error);
using CommEnd = Result(Comm comm);  ///< ncclCommFinalize, ncclCommDestroy and ncclCommAbort
using AllReduce = Result(const void* from,
                         void* to,
                         std::size_t count,
                         Type type,
                         Op op,
                         Comm comm,
                         CUstream_st* stream);
using AllGather = Result(
    const void* from, void* to, std::size_t count, Type type, Comm comm, CUstream_st* stream);
using Broadcast = Result(const void* from,
                         void* to,
                         std::size_t count,
                         Type type,
                         int root,
                         Comm comm,
                         CUstream_st* stream);
using Group = Result();  ///< ncclGroupStart and ncclGroupEnd
using CommRegister = Result(Comm comm, void* memory, std::size_t bytes, void** handle);
using CommDeregister = Result(Comm comm, void* handle);

}  // namespace learn::cuda::nccl
