#pragma once
#include "framework/kernels/common/activation_kind.h"

#include <algorithm>
#include <cmath>
#include <numbers>

/// Activations of one number in double, for the reference.
namespace learn::reference {

[[nodiscard]] inline double activate(const ActivationKind& kind, double x) {
  switch (kind.name) {
    case ActivationKind::Name::identity:
      return x;
    case ActivationKind::Name::relu:
      return x > 0 ? x : (std::isnan(x) ? x : 0);
    case ActivationKind::Name::leaky_relu:
      return x > 0 ? x : x * static_cast<double>(kind.slope);
    case ActivationKind::Name::relu6:
      return std::isnan(x) ? x : std::clamp(x, 0.0, 6.0);
    case ActivationKind::Name::gelu:
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case ActivationKind::Name::silu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

/// Returns d act / d x. At a kink it is the slope of the outer side. At NaN it is 1 for relu, 0 for
/// relu6 and the slope of the negative side for leaky relu, as in PyTorch.
[[nodiscard]] inline double activation_slope(const ActivationKind& kind, double x) {
  switch (kind.name) {
    case ActivationKind::Name::identity:
      return 1;
    case ActivationKind::Name::relu:
      return x <= 0 ? 0 : 1;
    case ActivationKind::Name::leaky_relu:
      return x > 0 ? 1 : static_cast<double>(kind.slope);
    case ActivationKind::Name::relu6:
      return x > 0 && x < 6 ? 1 : 0;
    case ActivationKind::Name::gelu: {
      const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
      return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) + x * density;
    }
    case ActivationKind::Name::silu: {
      const double sigmoid = 1 / (1 + std::exp(-x));
      return sigmoid * (1 + x * (1 - sigmoid));
    }
  }
  return 1;
}

}  // namespace learn::reference
