#pragma once
#include "framework/backend/activation_kind.h"
#include "framework/backend/cpu/vector_math.h"

namespace learn::backend::cpu {

/// Calls `body(value, slope)` with the kind's function and derivative, outside of the element loop
/// so that each loop vectorises. Slopes multiply instead of masking, so a NaN or an infinity in dy
/// is never hidden from the look-out for overflow.
template <class Body>
void with_activation(const ActivationKind& kind, Body&& body) {
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
      return body(
          [](float x) { return x * vnormal_cdf(x); },
          [](float x) { return vnormal_cdf(x) + x * kInverseSqrt2Pi * vexp(-0.5F * x * x); });
    case Name::silu:
      return body([](float x) { return x / (1 + vexp(-x)); },
                  [](float x) {
                    // 1 - sigmoid as e / (1 + e): the difference would cancel for large x.
                    const float c = x < -80 ? -80 : x;  // e stays finite, the slope is 0 by then
                    const float e = vexp(-c);
                    const float s = 1 / (1 + e);
                    return s * (1 + c * e * s);
                  });
  }
}

}  // namespace learn::backend::cpu
