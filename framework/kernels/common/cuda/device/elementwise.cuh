#pragma once
#include <cstdint>

namespace learn::cuda::device {

/// Threads per block of elementwise kernels. Four warps hide latency at any register count these
/// kernels have.
inline constexpr int kElementwiseThreads = 128;

/// Returns the index of this thread in the whole launch, in 64 bits from the first product on.
__device__ inline std::int64_t thread_index() {
  return static_cast<std::int64_t>(blockIdx.x) * static_cast<std::int64_t>(blockDim.x) +
         static_cast<std::int64_t>(threadIdx.x);
}

}  // namespace learn::cuda::device
