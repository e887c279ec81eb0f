#pragma once
#include "framework/kernels/common/activation_kind.h"

#include <algorithm>
#include <cmath>
#include <numbers>

/// Activations of one number in double, for the reference.
namespace learn::reference {

inline constexpr double kGeluTanhScale = 0.7978845608028654;  // sqrt(2 / pi)
inline constexpr double kGeluTanhCube = 0.044715;

/// The operand of the hyperbolic tangent in gelu_tanh.
[[nodiscard]] inline double gelu_tanh_operand(double x) {
  return kGeluTanhScale * (x + kGeluTanhCube * x * x * x);
}

/// Returns log(1 + exp(x)).
[[nodiscard]] inline double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

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
    case ActivationKind::Name::hardsigmoid:
      return std::isnan(x) ? x : std::clamp(x + 3, 0.0, 6.0) / 6;
    case ActivationKind::Name::hardswish:
      return x * activate(ActivationKind::hardsigmoid(), x);
    case ActivationKind::Name::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(gelu_tanh_operand(x)));
    case ActivationKind::Name::mish:
      return x * std::tanh(softplus(x));
  }
  return x;
}

/// Returns d act / d x. At a kink it is the slope of the outer side. At NaN it is 1 for relu and
/// hardswish, 0 for relu6 and hardsigmoid and the slope of the negative side for leaky relu, as in
/// PyTorch.
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
    case ActivationKind::Name::hardsigmoid:
      return x > -3 && x < 3 ? 1.0 / 6 : 0;
    case ActivationKind::Name::hardswish:
      if (x <= -3) return 0;
      return x < 3 ? x / 3 + 0.5 : 1;
    case ActivationKind::Name::gelu_tanh: {
      const double tanh = std::tanh(gelu_tanh_operand(x));
      const double operand_slope = kGeluTanhScale * (1 + 3 * kGeluTanhCube * x * x);
      return 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * operand_slope;
    }
    case ActivationKind::Name::mish: {
      const double tanh = std::tanh(softplus(x));
      return tanh + x * (1 - tanh * tanh) / (1 + std::exp(-x));
    }
  }
  return 1;
}

}  // namespace learn::reference
