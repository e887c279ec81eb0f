#pragma once
#include "framework/kernels/common/cuda/device/convert.cuh"
#include "framework/kernels/common/cuda/tiling.cuh"

#include <cstdint>

namespace learn::cuda {

/// A thread's values for its channels: bn(x) = (x - mean) * scale + bias.
template <int count>
struct BatchNormChannels {
  float mean[count], scale[count], bias[count];

  __device__ BatchNormChannels(std::int64_t pack,
                               const float* means,
                               const float* rstds,
                               const float* weights,
                               const float* biases) {
    const auto m = device::load_pack<count>(means, pack);
    const auto r = device::load_pack<count>(rstds, pack);
    const auto w = device::load_pack<count>(weights, pack);
    const auto b = device::load_pack<count>(biases, pack);
#pragma unroll
    for (int k = 0; k < count; ++k) {
      mean[k] = m.v[k];
      scale[k] = r.v[k] * w.v[k];
      bias[k] = b.v[k];
    }
  }
  [[nodiscard]] __device__ float normalized(float x, int k) const {
    return (x - mean[k]) * scale[k] + bias[k];
  }
};

/// Returns the floats of scratch memory that the statistics and the backward pass need.
[[nodiscard]] inline std::int64_t batch_norm_workspace(std::int64_t rows, std::int64_t channels) {
  // Two sums per channel and block of rows; the backward pass keeps two coefficients per channel.
  return 2 * channels * (max_partials(rows, channels) + 1);
}

}  // namespace learn::cuda
