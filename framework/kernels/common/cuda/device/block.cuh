#pragma once
#include "framework/kernels/common/cuda/device/warp.cuh"

namespace learn::cuda::device {

/// Returns to the first thread the sum over all `threads` threads of the block (a multiple of 32,
/// at most 1024). Every thread must call it.
template <int threads>
__device__ inline float block_sum(float value) {
  constexpr int kWarps = threads / 32;
  __shared__ float warps[kWarps];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  value = warp_sum(value);
  __syncthreads();  // the previous call may still be reading
  if (lane_index() == 0) warps[warp] = value;
  __syncthreads();
  if (warp == 0) value = warp_sum(lane_index() < kWarps ? warps[lane_index()] : 0.0F);
  return value;
}

}  // namespace learn::cuda::device
