#pragma once
#include "framework/kernels/common/activation_kind.h"

namespace learn::cuda {
namespace device {

/// Activation functions as value and slope in f32. NaN stays NaN. At a kink the slope is that on
/// the negative side; at NaN it is 1 for relu and the slope on the negative side for leaky relu, as
/// in PyTorch.
struct Gelu {
  __device__ float value(float x) const { return 0.5F * x * (1.0F + erff(x * 0.70710678F)); }
  __device__ float slope(float x) const {
    return 0.5F * (1.0F + erff(x * 0.70710678F)) + x * 0.39894228F * expf(-0.5F * x * x);
  }
};
struct Silu {
  __device__ float value(float x) const { return x / (1.0F + expf(-x)); }
  __device__ float slope(float x) const {
    const float s = 1.0F / (1.0F + expf(-x));
    return s * (1.0F + x * (1.0F - s));
  }
};

/// Two straight lines that meet at 0. Its parameters make it identity, relu or leaky relu.
struct LeakyRelu {
  float negative;  ///< slope below 0
  bool flat;       ///< `negative` is 0, and so is the value at -inf
  __device__ float value(float x) const {
    const float below = flat ? 0.0F : x * negative;
    return x < 0.0F ? below : x;
  }
  __device__ float slope(float x) const {
    return x > 0.0F || (flat && !(x <= 0.0F)) ? 1.0F : negative;
  }
};

}  // namespace device

/// Calls `f(act)` with the device functions of `kind`. Identity, relu and leaky relu share one
/// type, which saves two instantiations of every kernel.
template <class F>
void with_activation(const ActivationKind& kind, F&& f) {
  switch (kind.name) {
    case ActivationKind::Name::identity:
      return f(device::LeakyRelu{1.0F, false});
    case ActivationKind::Name::relu:
      return f(device::LeakyRelu{0.0F, true});
    case ActivationKind::Name::leaky_relu:
      return f(device::LeakyRelu{kind.slope, false});
    case ActivationKind::Name::gelu:
      return f(device::Gelu{});
    case ActivationKind::Name::silu:
      return f(device::Silu{});
  }
}

}  // namespace learn::cuda
