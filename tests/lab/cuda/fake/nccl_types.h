#pragma once
#include <cuda_runtime_api.h>

#include <climits>
#include <cstddef>

/// Types of NCCL's interface, under names of ours; nccl_types.cpp compares them with the real
/// header where there is one.
namespace fakecuda {

class NcclCommunicator;

enum NcclResult : int {
  nccl_success = 0,
  nccl_unhandled_cuda_error = 1,
  nccl_system_error = 2,
  nccl_internal_error = 3,
  nccl_invalid_argument = 4,
  nccl_invalid_usage = 5,
  nccl_remote_error = 6,
  nccl_in_progress = 7,
  nccl_timeout = 8,  ///< since 2.29
};

enum NcclType : int {
  nccl_u8 = 1,
  nccl_i32 = 2,
  nccl_i64 = 4,
  nccl_f16 = 6,
  nccl_f32 = 7,
  nccl_f64 = 8,
  nccl_bf16 = 9,
};

inline constexpr int kNcclSum = 0;
inline constexpr int kNcclUndefined = INT_MIN;
inline constexpr unsigned kNcclMagic = 0xcafebeef;
inline constexpr std::size_t kNcclIdBytes = 128;

struct NcclId {
  char bytes[kNcclIdBytes];
};

/// The first members of ncclConfig_t, which only grows at its end: 2.14 has the first four members,
/// 2.18 all of these.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = kNcclMagic;
  unsigned version = 21800;
  int blocking = kNcclUndefined;
  int cga_cluster_size = kNcclUndefined;
  int min_ctas = kNcclUndefined;
  int max_ctas = kNcclUndefined;
  const char* net_name = nullptr;
  int split_share = kNcclUndefined;
};

}  // namespace fakecuda
