#pragma once
#include "framework/kernels/common/cuda/device/warp.cuh"

#include <cstdint>

namespace learn::cuda {

/// Adds up `parts` blocks of rows of one channel with a warp: the two sums of `partial` (2,
/// channels, parts), which every lane gets.
__device__ inline float2 join_row_blocks(std::int64_t parts,
                                         std::int64_t channels,
                                         std::int64_t channel,
                                         const float* partial) {
  float first = 0;
  float second = 0;
  for (std::int64_t i = device::lane_index(); i < parts; i += 32) {
    first += partial[channel * parts + i];
    second += partial[(channels + channel) * parts + i];
  }
  return {device::warp_sum(first), device::warp_sum(second)};
}

}  // namespace learn::cuda
