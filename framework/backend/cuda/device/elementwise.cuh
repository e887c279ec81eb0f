#pragma once
#include "framework/backend/cuda/device/convert.cuh"

#include <cstdint>

namespace learn::backend::cuda::device {

/// Threads per block of elementwise kernels: four warps hide latency with any register count they
/// have.
inline constexpr int kElementwiseThreads = 128;

/// Calls `body(i)` for this thread's elements of [0, n): one element each, 64-bit from the first
/// product.
template <class Body>
__device__ inline void for_each_element(std::int64_t n, Body body) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kElementwiseThreads +
                         static_cast<std::int64_t>(threadIdx.x);
  if (i < n) body(i);
}

}  // namespace learn::backend::cuda::device
