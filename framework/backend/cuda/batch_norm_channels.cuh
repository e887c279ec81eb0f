#pragma once
#include "framework/backend/activation_kind.h"
#include "framework/backend/cuda/device/convert.cuh"
#include "framework/backend/cuda/device/math.cuh"

#include <cstdint>

namespace learn::backend::cuda {

/// What a thread knows of its channels: bn(x) = (x - mean) * scale + bias.
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
  [[nodiscard]] __device__ float normalised(float x, int k) const {
    return (x - mean[k]) * scale[k] + bias[k];
  }
};

/// Calls `f(act)` with one of three functions: identity, relu and leaky relu share one, which
/// spares every kernel here two copies of itself.
template <class F>
void with_fused_activation(const ActivationKind& kind, F&& f) {
  switch (kind.name) {
    case ActivationKind::Name::identity:
      return f(device::Bent{1.0F, false});
    case ActivationKind::Name::relu:
      return f(device::Bent{0.0F, true});
    case ActivationKind::Name::leaky_relu:
      return f(device::Bent{kind.slope, false});
    case ActivationKind::Name::gelu:
      return f(device::Gelu{});
    case ActivationKind::Name::silu:
      return f(device::Silu{});
  }
}

}  // namespace learn::backend::cuda
