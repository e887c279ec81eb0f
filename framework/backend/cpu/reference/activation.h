#pragma once
#include "framework/backend/activation_kind.h"
#include "framework/backend/grad_mode.h"
#include "framework/tensor/convert.h"

#include <cmath>
#include <cstdint>
#include <numbers>

/// The oracle: plain loops in double, whatever the storage type, rounded once at the end.
namespace learn::backend::cpu::reference {

[[nodiscard]] inline double activate(const ActivationKind& kind, double x) {
  switch (kind.name) {
    case ActivationKind::Name::identity:
      return x;
    case ActivationKind::Name::relu:
      return x > 0 ? x : (std::isnan(x) ? x : 0);
    case ActivationKind::Name::leaky_relu:
      return x > 0 ? x : x * static_cast<double>(kind.slope);
    case ActivationKind::Name::gelu:
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case ActivationKind::Name::silu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

/// d act / d x; at the kink of relu and leaky relu the negative side's slope, as PyTorch.
[[nodiscard]] inline double activation_slope(const ActivationKind& kind, double x) {
  switch (kind.name) {
    case ActivationKind::Name::identity:
      return 1;
    case ActivationKind::Name::relu:
      return x > 0 ? 1 : 0;
    case ActivationKind::Name::leaky_relu:
      return x > 0 ? 1 : static_cast<double>(kind.slope);
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

template <class T>
void activation_forward(const ActivationKind& kind, const T* x, T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = from_double<T>(activate(kind, as_double(x[i])));
}

template <class T>
void activation_backward(
    const ActivationKind& kind, const T* x, const T* dy, T* dx, GradMode mode, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double before = mode == GradMode::accumulate ? as_double(dx[i]) : 0;
    dx[i] = from_double<T>(before + as_double(dy[i]) * activation_slope(kind, as_double(x[i])));
  }
}

}  // namespace learn::backend::cpu::reference
