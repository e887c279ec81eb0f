#pragma once
#include "tests/lab/cuda/fake/nccl_types.h"

/// The functions of NCCL that the fake runtime exports, with the framework's declarations. They
/// work between the processes of one machine; misuse that the real library may not notice ends the
/// process (see stop.h).
// The names are NCCL's.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

fakecuda::nccl::GetVersion ncclGetVersion;
fakecuda::nccl::GetErrorString ncclGetErrorString;
fakecuda::nccl::GetLastError ncclGetLastError;
fakecuda::nccl::GetUniqueId ncclGetUniqueId;
fakecuda::nccl::CommInitRankConfig ncclCommInitRankConfig;
fakecuda::nccl::CommGetAsyncError ncclCommGetAsyncError;
fakecuda::nccl::CommEnd ncclCommFinalize;
fakecuda::nccl::CommEnd ncclCommDestroy;
fakecuda::nccl::CommEnd ncclCommAbort;
fakecuda::nccl::CommRegister ncclCommRegister;
fakecuda::nccl::CommDeregister ncclCommDeregister;
fakecuda::nccl::AllReduce ncclAllReduce;
fakecuda::nccl::AllGather ncclAllGather;
fakecuda::nccl::Broadcast ncclBroadcast;
fakecuda::nccl::Group ncclGroupStart;
fakecuda::nccl::Group ncclGroupEnd;

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
