#pragma once
#include "framework/kernels/common/activation_kind.h"

#include <algorithm>
#include <cstdint>

/// Activations within other loops. The piecewise linear ones are functors, which a loop inlines.
/// The others, such as gelu, are smooth and run in a separate loop, strip by strip: inlined into a
/// longer one, their exponentials keep the compiler from vectorising it.
///
/// Slopes multiply instead of masking, so a NaN or an infinity in dy is never hidden from the
/// look-out for overflow.
namespace learn::cpu {

[[nodiscard]] constexpr bool is_smooth(const ActivationKind& kind) noexcept {
  return kind.name != ActivationKind::Name::identity && kind.name != ActivationKind::Name::relu &&
         kind.name != ActivationKind::Name::leaky_relu;
}

/// Applies a smooth activation in place: values[i] = act(values[i]). No threads.
void smooth_values(const ActivationKind& kind, float* values, std::int64_t n);
/// Replaces values by the derivative of a smooth activation: values[i] = act'(values[i]). No
/// threads.
void smooth_slopes(const ActivationKind& kind, float* values, std::int64_t n);

/// Floats of a strip: they stay in the first-level cache and fit on the stack.
inline constexpr std::int64_t kStrip = 512;

/// Calls `body(first, count)` for strips of [0, n), in order.
template <class Body>
void for_strips(std::int64_t n, Body body) {
  for (std::int64_t first = 0; first < n; first += kStrip) body(first, std::min(kStrip, n - first));
}

/// Calls `body(act)` with the function of a piecewise linear activation.
template <class Body>
void with_value(const ActivationKind& kind, Body&& body) {
  switch (kind.name) {
    case ActivationKind::Name::relu:
      return body([](float x) { return x < 0 ? 0 : x; });
    case ActivationKind::Name::leaky_relu:
      return body([slope = kind.slope](float x) { return x > 0 ? x : x * slope; });
    default:
      return body([](float x) { return x; });
  }
}

/// The derivative of relu, which passes on what NaN gets.
struct ReluSlope {
  float operator()(float x) const { return x <= 0 ? 0.0F : 1.0F; }
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

/// Calls `body(act')` with the derivative of a piecewise linear activation.
template <class Body>
void with_slope(const ActivationKind& kind, Body&& body) {
  if (kind.name == ActivationKind::Name::identity) return body(UnitSlope{});
  if (kind.name == ActivationKind::Name::relu) return body(ReluSlope{});
  return body(LeakySlope{kind.slope});
}

}  // namespace learn::cpu
