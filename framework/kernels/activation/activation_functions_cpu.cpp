#include "framework/kernels/common/cpu/activation_functions.h"
#include "framework/kernels/common/cpu/vector_math.h"
#include "framework/kernels/common/cpu/vectorize.h"

namespace learn::cpu {
namespace {

constexpr float kInverseSqrt2Pi = 0.39894228F;

float gelu(float x) { return x * vnormal_cdf(x); }
float gelu_slope(float x) { return vnormal_cdf(x) + x * kInverseSqrt2Pi * vbell(x); }

float silu(float x) { return x / (1 + vexp(-x)); }
float silu_slope(float x) {
  // 1 - sigmoid is computed as e / (1 + e) because the difference would cancel for large x.
  const float c = x < -80 ? -80 : x;  // e stays finite; the slope is 0 below -80
  const float e = vexp(-c);
  const float s = 1 / (1 + e);
  return s * (1 + c * e * s);
}

float hardsigmoid(float x) {
  const float above = x + 3 < 0 ? 0 : x + 3;
  return (above > 6 ? 6 : above) * (1.0F / 6);
}
float hardsigmoid_slope(float x) {
  const float below = x < 3 ? 1.0F / 6 : 0.0F;
  return x > -3 ? below : 0.0F;
}

float hardswish(float x) { return x * hardsigmoid(x); }
float hardswish_slope(float x) {
  const float inner = x * (1.0F / 3) + 0.5F;
  const float above = x < 3 ? inner : 1.0F;
  return x <= -3 ? 0.0F : above;
}

// Both are x / (1 + e) and its derivative: (1 + tanh(u)) / 2 is the sigmoid of 2u.
constexpr float kTwiceSqrt2OverPi = 1.5957691F;
constexpr float kCube = 0.044715F;
float gelu_tanh(float x) { return x / (1 + vexp(-kTwiceSqrt2OverPi * (x + kCube * x * x * x))); }
float gelu_tanh_slope(float x) {
  const float above = x < -9 ? -9 : x;  // e stays finite; the slope is 0 below, and 1 above
  const float c = above > 9 ? 9 : above;
  const float square = kCube * c * c;
  const float e = vexp(-kTwiceSqrt2OverPi * (c + c * square));
  const float s = 1 / (1 + e);
  return s * (1 + c * e * s * kTwiceSqrt2OverPi * (1 + 3 * square));
}

// tanh(log(1 + e)) is n / (n + 2) with n = e (e + 2), for e = exp(x).
float mish(float x) {
  const float e = vexp(x > 20 ? 20 : x);  // n stays finite; the quotient is 1 above
  const float n = e * (e + 2);
  return x * (n / (n + 2));
}
float mish_slope(float x) {
  const float above = x < -80 ? -80 : x;
  const float c = above > 20 ? 20 : above;
  const float e = vexp(c);
  const float n = e * (e + 2);
  const float q = 1 / (n + 2);
  return n * q + c * 4 * e * (1 + e) * q * q;
}

template <class F>
void apply(const float* from, float* to, std::int64_t n, F f) {
  simd::run([=] {
    LEARN_VECTORIZE
    for (std::int64_t i = 0; i < n; ++i) to[i] = f(from[i]);
  });
}

}  // namespace

void activation_values(const ActivationKind& kind, const float* from, float* to, std::int64_t n) {
  switch (kind.name) {
    case ActivationKind::Name::gelu:
      return apply(from, to, n, [](float x) { return gelu(x); });
    case ActivationKind::Name::silu:
      return apply(from, to, n, [](float x) { return silu(x); });
    case ActivationKind::Name::hardsigmoid:
      return apply(from, to, n, [](float x) { return hardsigmoid(x); });
    case ActivationKind::Name::hardswish:
      return apply(from, to, n, [](float x) { return hardswish(x); });
    case ActivationKind::Name::gelu_tanh:
      return apply(from, to, n, [](float x) { return gelu_tanh(x); });
    case ActivationKind::Name::mish:
      return apply(from, to, n, [](float x) { return mish(x); });
    case ActivationKind::Name::identity:
    case ActivationKind::Name::relu:
    case ActivationKind::Name::leaky_relu:
    case ActivationKind::Name::relu6:
      return with_value(kind, [=](auto value) { apply(from, to, n, value); });
  }
}

void activation_slopes(const ActivationKind& kind, const float* from, float* to, std::int64_t n) {
  switch (kind.name) {
    case ActivationKind::Name::gelu:
      return apply(from, to, n, [](float x) { return gelu_slope(x); });
    case ActivationKind::Name::silu:
      return apply(from, to, n, [](float x) { return silu_slope(x); });
    case ActivationKind::Name::hardsigmoid:
      return apply(from, to, n, [](float x) { return hardsigmoid_slope(x); });
    case ActivationKind::Name::hardswish:
      return apply(from, to, n, [](float x) { return hardswish_slope(x); });
    case ActivationKind::Name::gelu_tanh:
      return apply(from, to, n, [](float x) { return gelu_tanh_slope(x); });
    case ActivationKind::Name::mish:
      return apply(from, to, n, [](float x) { return mish_slope(x); });
    case ActivationKind::Name::identity:
    case ActivationKind::Name::relu:
    case ActivationKind::Name::leaky_relu:
    case ActivationKind::Name::relu6:
      return with_slope(kind, [=](auto slope) { apply(from, to, n, slope); });
  }
}

void activation_values(const ActivationKind& kind, float* values, std::int64_t n) {
  activation_values(kind, values, values, n);
}
void activation_slopes(const ActivationKind& kind, float* values, std::int64_t n) {
  activation_slopes(kind, values, values, n);
}

}  // namespace learn::cpu
