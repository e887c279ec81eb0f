#pragma once
#include "framework/kernels/common/activation_kind.h"
#include "framework/kernels/common/cuda/device/math.cuh"

namespace learn::cuda {

/// Calls `f(act)` with the device functions of `kind`. Identity, relu and leaky relu share one,
/// which spares every kernel two copies of itself.
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
