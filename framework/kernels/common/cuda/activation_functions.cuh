#pragma once
#include "framework/kernels/common/activation_kind.h"

namespace learn::cuda {
namespace device {

/// Activation functions as value and slope in f32. NaN stays NaN. At a kink the slope is that on
/// the outer side; at NaN it is 1 for relu, 0 for relu6 and the slope on the negative side for
/// leaky relu, as in PyTorch.
struct Gelu {
  __device__ float value(float x) const { return 0.5F * x * (1.0F + erff(x * 0.70710678F)); }
  __device__ float slope(float x) const {
    return 0.5F * (1.0F + erff(x * 0.70710678F)) + x * 0.39894228F * expf(-0.5F * x * x);
  }
};
struct Silu {
  __device__ float value(float x) const { return x / (1.0F + expf(-x)); }
  __device__ float slope(float x) const {
    // 1 - sigmoid is computed as e / (1 + e) because the difference would cancel for large x.
    const float c = x < -80.0F ? -80.0F : x;  // e stays finite; the slope is 0 below -80
    const float e = expf(-c);
    const float s = 1.0F / (1.0F + e);
    return s * (1.0F + c * e * s);
  }
};

/// Two straight lines that meet at 0, and a limit. Its parameters make it identity, relu, leaky
/// relu or relu6.
struct LeakyRelu {
  float negative;  ///< slope below 0
  bool flat;       ///< `negative` is 0, and so is the value at -inf
  bool limited;    ///< relu6
  __device__ float value(float x) const {
    const float below = flat ? 0.0F : x * negative;
    const float above = limited && x > 6.0F ? 6.0F : x;
    return x < 0.0F ? below : above;
  }
  __device__ float slope(float x) const {
    const float inner = x > 0.0F || (flat && !(x <= 0.0F)) ? 1.0F : negative;
    return limited && !(x < 6.0F) ? 0.0F : inner;
  }
};

}  // namespace device

/// Calls `f(act)` with the device functions of `kind`. Identity, relu, leaky relu and relu6 share
/// one type, which saves three instantiations of every kernel.
template <class F>
void with_activation(const ActivationKind& kind, F&& f) {
  switch (kind.name) {
    case ActivationKind::Name::identity:
      return f(device::LeakyRelu{1.0F, false, false});
    case ActivationKind::Name::relu:
      return f(device::LeakyRelu{0.0F, true, false});
    case ActivationKind::Name::leaky_relu:
      return f(device::LeakyRelu{kind.slope, false, false});
    case ActivationKind::Name::relu6:
      return f(device::LeakyRelu{0.0F, true, true});
    case ActivationKind::Name::gelu:
      return f(device::Gelu{});
    case ActivationKind::Name::silu:
      return f(device::Silu{});
  }
}

}  // namespace learn::cuda
