#pragma once
#include "framework/backend/activation_kind.h"
#include "framework/backend/cuda/device/math.cuh"

namespace learn::backend::cuda {

/// Calls `f(act)` with the device functions of `kind`.
template <class F>
void with_activation(const ActivationKind& kind, F&& f) {
  switch (kind.name) {
    case ActivationKind::Name::identity:
      return f(device::Identity{});
    case ActivationKind::Name::relu:
      return f(device::Relu{});
    case ActivationKind::Name::leaky_relu:
      return f(device::LeakyRelu{kind.slope});
    case ActivationKind::Name::gelu:
      return f(device::Gelu{});
    case ActivationKind::Name::silu:
      return f(device::Silu{});
  }
}

}  // namespace learn::backend::cuda
