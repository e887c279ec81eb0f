#pragma once
#include "framework/kernels/common/activation_kind.h"

namespace learn::cuda {
namespace device {

/// Activation functions as value and slope in f32. NaN stays NaN. At a kink the slope is that on
/// the outer side; at NaN it is 1 for relu and hardswish, 0 for relu6 and hardsigmoid and the slope
/// on the negative side for leaky relu, as in PyTorch.
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

/// One of the activations that few nets have: all threads take the same branch, so that kernels are
/// compiled for all of them once.
struct Rare {
  ActivationKind::Name name;
  __device__ float value(float x) const {
    if (name == ActivationKind::Name::mish) {
      const float e = expf(x > 20.0F ? 20.0F : x);  // n stays finite; the quotient is 1 above
      const float n = e * (e + 2.0F);
      return x * (n / (n + 2.0F));  // tanh(log(1 + e)) = n / (n + 2)
    }
    if (name == ActivationKind::Name::gelu_tanh)
      return x / (1.0F + expf(-kTwiceSqrt2OverPi * (x + kCube * x * x * x)));
    const float above = x + 3.0F < 0.0F ? 0.0F : x + 3.0F;
    const float hardsigmoid = (above > 6.0F ? 6.0F : above) * (1.0F / 6.0F);
    return name == ActivationKind::Name::hardsigmoid ? hardsigmoid : x * hardsigmoid;
  }
  __device__ float slope(float x) const {
    if (name == ActivationKind::Name::mish) {
      const float above = x < -80.0F ? -80.0F : x;
      const float c = above > 20.0F ? 20.0F : above;
      const float e = expf(c);
      const float n = e * (e + 2.0F);
      const float q = 1.0F / (n + 2.0F);
      return n * q + c * 4.0F * e * (1.0F + e) * q * q;
    }
    if (name == ActivationKind::Name::gelu_tanh) {
      const float above = x < -9.0F ? -9.0F : x;  // e stays finite
      const float c = above > 9.0F ? 9.0F : above;
      const float square = kCube * c * c;
      const float e = expf(-kTwiceSqrt2OverPi * (c + c * square));
      const float s = 1.0F / (1.0F + e);
      return s * (1.0F + c * e * s * kTwiceSqrt2OverPi * (1.0F + 3.0F * square));
    }
    if (name == ActivationKind::Name::hardsigmoid)
      return x > -3.0F && x < 3.0F ? 1.0F / 6.0F : 0.0F;
    const float inner = x * (1.0F / 3.0F) + 0.5F;
    const float above = x < 3.0F ? inner : 1.0F;
    return x <= -3.0F ? 0.0F : above;
  }

 private:
  static constexpr float kTwiceSqrt2OverPi = 1.5957691F;
  static constexpr float kCube = 0.044715F;
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
    case ActivationKind::Name::hardsigmoid:
    case ActivationKind::Name::hardswish:
    case ActivationKind::Name::gelu_tanh:
    case ActivationKind::Name::mish:
      return f(device::Rare{kind.name});
  }
}

}  // namespace learn::cuda
