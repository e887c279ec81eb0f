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
