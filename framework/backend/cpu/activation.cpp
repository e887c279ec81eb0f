#include "framework/backend/cpu/activation.h"

#include "framework/core/dtype.h"
#include "framework/tensor/convert.h"

#include <cmath>

namespace learn::backend::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;  // about 10 microseconds of memory traffic

constexpr float kSqrtHalf = 0.70710678F;
constexpr float kInverseSqrt2Pi = 0.39894228F;

/// Calls `body(value, slope)` pairs for the kind, outside of the element loop so that each loop
/// vectorises.
template <class Body>
void with_activation(const ActivationKind& kind, Body&& body) {
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

}  // namespace

template <class T>
void activation_forward(
    ThreadPool& threads, const ActivationKind& kind, const T* x, T* y, std::int64_t n) {
  with_activation(kind, [&](auto value, auto) {
    threads.parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = from_float<T>(value(as_float(x[i])));
    });
  });
}

template <class T>
void activation_backward(ThreadPool& threads,
                         const ActivationKind& kind,
                         const T* x,
                         const T* dy,
                         T* dx,
                         GradMode mode,
                         std::int64_t n) {
  with_activation(kind, [&](auto, auto slope) {
    threads.parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
      if (mode == GradMode::overwrite)
        for (std::int64_t i = begin; i < end; ++i)
          dx[i] = from_float<T>(as_float(dy[i]) * slope(as_float(x[i])));
      else
        for (std::int64_t i = begin; i < end; ++i)
          dx[i] = from_float<T>(as_float(dx[i]) + as_float(dy[i]) * slope(as_float(x[i])));
    });
  });
}

#define LEARN_INSTANTIATE(T)                                           \
  template void activation_forward(                                    \
      ThreadPool&, const ActivationKind&, const T*, T*, std::int64_t); \
  template void activation_backward(                                   \
      ThreadPool&, const ActivationKind&, const T*, const T*, T*, GradMode, std::int64_t);
LEARN_INSTANTIATE(float)
LEARN_INSTANTIATE(double)
LEARN_INSTANTIATE(Half)
LEARN_INSTANTIATE(BFloat16)
#undef LEARN_INSTANTIATE

}  // namespace learn::backend::cpu
