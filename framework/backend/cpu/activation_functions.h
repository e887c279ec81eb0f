#pragma once
#include "framework/backend/activation_kind.h"

#include <cmath>

namespace learn::backend::cpu {

/// Calls `body(value, slope)` with the activation and its derivative as functions of one float,
/// outside of the element loop, so that the loop is compiled for each and vectorises.
template <class Body>
void with_activation(const ActivationKind& kind, Body&& body) {
  constexpr float kSqrtHalf = 0.70710678F;
  constexpr float kInverseSqrt2Pi = 0.39894228F;
  using Name = ActivationKind::Name;
  const float slope = kind.slope;
  switch (kind.name) {
    case Name::identity:
      return body([](float x) { return x; }, [](float) { return 1.0F; });
    case Name::relu:
      return body([](float x) { return x < 0 ? 0 : x; },
                  [](float x) { return x > 0 ? 1.0F : 0.0F; });
    case Name::leaky_relu:
      return body([slope](float x) { return x > 0 ? x : x * slope; },
                  [slope](float x) { return x > 0 ? 1.0F : slope; });
    case Name::gelu:
      return body([](float x) { return 0.5F * x * (1 + std::erf(x * kSqrtHalf)); },
                  [](float x) {
                    return 0.5F * (1 + std::erf(x * kSqrtHalf)) +
                           x * kInverseSqrt2Pi * std::exp(-0.5F * x * x);
                  });
    case Name::silu:
      return body([](float x) { return x / (1 + std::exp(-x)); },
                  [](float x) {
                    const float s = 1 / (1 + std::exp(-x));
                    return s * (1 + x * (1 - s));
                  });
  }
}

}  // namespace learn::backend::cpu
