#pragma once
#include <cstdint>

namespace learn::cuda::device {

/// Threads per block of elementwise kernels: four warps hide latency with any register count they
/// have.
inline constexpr int kElementwiseThreads = 128;

/// The number of this thread in the whole launch, 64-bit from the first product.
__device__ inline std::int64_t thread_index() {
  return static_cast<std::int64_t>(blockIdx.x) * static_cast<std::int64_t>(blockDim.x) +
         static_cast<std::int64_t>(threadIdx.x);
}

}  // namespace learn::cuda::device
