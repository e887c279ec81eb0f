#pragma once
#include "framework/kernels/common/activation_kind.h"

#include <algorithm>
#include <cstdint>

/// Activations for use inside other loops. The brief ones are functors, which a loop inlines. The
/// others (for example gelu) need a separate loop, strip by strip. If they were inlined into a
/// longer loop, their exponentials would keep the compiler from vectorizing it.
///
/// Slopes multiply instead of masking, so that a NaN or an infinity in dy always reaches the
/// overflow check.
namespace learn::cpu {

/// Applies any activation: to[i] = act(from[i]). Uses no threads.
void activation_values(const ActivationKind& kind, const float* from, float* to, std::int64_t n);
/// Applies the slope of any activation: to[i] = act'(from[i]). Uses no threads.
void activation_slopes(const ActivationKind& kind, const float* from, float* to, std::int64_t n);
/// Apply them in place: values[i] = act(values[i]), and act'(values[i]).
void activation_values(const ActivationKind& kind, float* values, std::int64_t n);
void activation_slopes(const ActivationKind& kind, float* values, std::int64_t n);

/// Floats per strip. A strip stays in the first-level cache and fits on the stack.
inline constexpr std::int64_t kStrip = 512;

/// Calls `body(first, count)` for the strips of [0, n), in order.
template <class Body>
void for_strips(std::int64_t n, Body body) {
  for (std::int64_t first = 0; first < n; first += kStrip) body(first, std::min(kStrip, n - first));
}

/// Calls `body(act)` with the function of a brief activation.
template <class Body>
void with_value(const ActivationKind& kind, Body&& body) {
  switch (kind.name) {
    case ActivationKind::Name::relu:
      return body([](float x) { return x < 0 ? 0 : x; });
    case ActivationKind::Name::leaky_relu:
      return body([slope = kind.slope](float x) { return x > 0 ? x : x * slope; });
    case ActivationKind::Name::relu6:
      return body([](float x) {
        const float above = x < 0 ? 0 : x;
        return above > 6 ? 6 : above;
      });
    default:
      return body([](float x) { return x; });
  }
}

/// The derivative of relu. It passes the gradient on where the input is NaN.
struct ReluSlope {
  float operator()(float x) const { return x <= 0 ? 0.0F : 1.0F; }
};
/// The derivative of relu6, 0 at NaN.
struct Relu6Slope {
  float operator()(float x) const {
    const float below = x < 6 ? 1.0F : 0.0F;
    return x > 0 ? below : 0.0F;
  }
};
/// The derivative of leaky relu.
struct LeakySlope {
  float negative;
  float operator()(float x) const { return x > 0 ? 1.0F : negative; }
};
/// The derivative of the identity.
struct UnitSlope {
  float operator()(float) const { return 1.0F; }
};

/// Calls `body(act')` with the derivative of a brief activation.
template <class Body>
void with_slope(const ActivationKind& kind, Body&& body) {
  if (kind.name == ActivationKind::Name::identity) return body(UnitSlope{});
  if (kind.name == ActivationKind::Name::relu) return body(ReluSlope{});
  if (kind.name == ActivationKind::Name::relu6) return body(Relu6Slope{});
  return body(LeakySlope{kind.slope});
}

}  // namespace learn::cpu
