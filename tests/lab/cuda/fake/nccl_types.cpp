// Comparison of nccl_types.h with the real header.
#include "tests/lab/cuda/fake/nccl_types.h"

#if __has_include(<nccl.h>)
#include <nccl.h>

namespace fakecuda {

static_assert(int{nccl_success} == ncclSuccess);
static_assert(int{nccl_unhandled_cuda_error} == ncclUnhandledCudaError);
static_assert(int{nccl_system_error} == ncclSystemError);
static_assert(int{nccl_internal_error} == ncclInternalError);
static_assert(int{nccl_invalid_argument} == ncclInvalidArgument);
static_assert(int{nccl_invalid_usage} == ncclInvalidUsage);
static_assert(int{nccl_remote_error} == ncclRemoteError);
static_assert(int{nccl_in_progress} == ncclInProgress);
static_assert(sizeof(NcclResult) == sizeof(ncclResult_t));

static_assert(int{nccl_u8} == ncclUint8);
static_assert(int{nccl_i32} == ncclInt32);
static_assert(int{nccl_i64} == ncclInt64);
static_assert(int{nccl_f16} == ncclFloat16);
static_assert(int{nccl_f32} == ncclFloat32);
static_assert(int{nccl_f64} == ncclFloat64);
static_assert(int{nccl_bf16} == ncclBfloat16);
static_assert(sizeof(NcclType) == sizeof(ncclDataType_t));

static_assert(kNcclSum == ncclSum);
static_assert(kNcclUndefined == NCCL_CONFIG_UNDEF_INT);
static_assert(sizeof(NcclId) == sizeof(ncclUniqueId));
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(NcclConfig, net_name) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(NcclConfig, split_share) == offsetof(ncclConfig_t, splitShare));

}  // namespace fakecuda
#endif
