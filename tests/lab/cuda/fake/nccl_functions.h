#pragma once
#include "tests/lab/cuda/fake/nccl_types.h"

/// The functions of NCCL that the fake runtime exports. They work between the processes of one
/// machine; misuse that the real library may not notice ends the process (see stop.h).
// The names are NCCL's.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

using ncclComm_t = fakecuda::NcclCommunicator*;
using fakecuda::NcclConfig;
using fakecuda::NcclId;
using fakecuda::NcclResult;
using fakecuda::NcclType;

NcclResult ncclGetVersion(int* version);
const char* ncclGetErrorString(NcclResult result);
const char* ncclGetLastError(ncclComm_t comm);
NcclResult ncclGetUniqueId(NcclId* id);
NcclResult ncclCommInitRank(ncclComm_t* comm, int ranks, NcclId id, int rank);
NcclResult ncclCommInitRankConfig(
    ncclComm_t* comm, int ranks, NcclId id, int rank, NcclConfig* config);
NcclResult ncclCommGetAsyncError(ncclComm_t comm, NcclResult* error);
NcclResult ncclCommFinalize(ncclComm_t comm);
NcclResult ncclCommDestroy(ncclComm_t comm);
NcclResult ncclCommAbort(ncclComm_t comm);
NcclResult ncclCommCount(ncclComm_t comm, int* count);
NcclResult ncclCommUserRank(ncclComm_t comm, int* rank);
NcclResult ncclCommRegister(ncclComm_t comm, void* buffer, std::size_t bytes, void** handle);
NcclResult ncclCommDeregister(ncclComm_t comm, void* handle);
NcclResult ncclAllReduce(const void* send,
                         void* receive,
                         std::size_t count,
                         NcclType type,
                         int operation,
                         ncclComm_t comm,
                         cudaStream_t stream);
NcclResult ncclAllGather(const void* send,
                         void* receive,
                         std::size_t count,
                         NcclType type,
                         ncclComm_t comm,
                         cudaStream_t stream);
NcclResult ncclBroadcast(const void* send,
                         void* receive,
                         std::size_t count,
                         NcclType type,
                         int root,
                         ncclComm_t comm,
                         cudaStream_t stream);
NcclResult ncclGroupStart();
NcclResult ncclGroupEnd();

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
