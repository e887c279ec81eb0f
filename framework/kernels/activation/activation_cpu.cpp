#include "framework/core/dtype.h"
#include "framework/kernels/activation/activation_kernels.h"
#include "framework/kernels/common/cpu/activation_functions.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/tensor/convert.h"

#include <concepts>

namespace learn::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;  // about 10 microseconds of memory traffic

/// Calls `body(strip, first, count)` with the values of each strip of x, as f32; of f32 they are
/// not copied.
template <class T, class Body>
void for_loaded_strips(ThreadPool& threads, const T* x, std::int64_t n, Body body) {
  simd::parallel_for(threads, n, kGrain, [=](std::int64_t begin, std::int64_t end) {
    for_strips(end - begin, [=](std::int64_t offset, std::int64_t count) {
      float strip[kStrip];
      const std::int64_t first = begin + offset;
      if constexpr (!std::same_as<T, float>) {
        LEARN_VECTORIZE
        for (std::int64_t i = 0; i < count; ++i) strip[i] = as_float(x[first + i]);
      }
      body(strip, first, count);
    });
  });
}

/// Computes dx (+)= dy * slope, element by element.
template <class T, class Slope>
void write(GradMode mode, const T* dy, T* dx, std::int64_t n, Slope slope) {
  if (mode == GradMode::overwrite) {
    LEARN_VECTORIZE
    for (std::int64_t i = 0; i < n; ++i) dx[i] = from_float<T>(as_float(dy[i]) * slope(i));
  } else {
    LEARN_VECTORIZE
    for (std::int64_t i = 0; i < n; ++i)
      dx[i] = from_float<T>(as_float(dx[i]) + as_float(dy[i]) * slope(i));
  }
}

}  // namespace

template <class T>
void activation_forward(
    ThreadPool& threads, const ActivationKind& kind, const T* x, T* y, std::int64_t n) {
  if (!is_brief(kind)) {
    if constexpr (std::same_as<T, float>)
      return threads.parallel_for(n, kGrain, [=](std::int64_t begin, std::int64_t end) {
        activation_values(kind, x + begin, y + begin, end - begin);
      });
    else
      return for_loaded_strips(
          threads, x, n, [=](float* strip, std::int64_t first, std::int64_t count) {
            activation_values(kind, strip, count);
            T* out = y + first;
            LEARN_VECTORIZE
            for (std::int64_t i = 0; i < count; ++i) out[i] = from_float<T>(strip[i]);
          });
  }
  with_value(kind, [&](auto value) {
    simd::parallel_for(threads, n, kGrain, [=](std::int64_t begin, std::int64_t end) {
      LEARN_VECTORIZE
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
  if (!is_brief(kind))
    return for_loaded_strips(
        threads, x, n, [=](float* strip, std::int64_t first, std::int64_t count) {
          if constexpr (std::same_as<T, float>)
            activation_slopes(kind, x + first, strip, count);
          else
            activation_slopes(kind, strip, count);
          write(mode, dy + first, dx + first, count, [=](std::int64_t i) { return strip[i]; });
        });
  with_slope(kind, [&](auto slope) {
    simd::parallel_for(threads, n, kGrain, [=](std::int64_t begin, std::int64_t end) {
      write(mode, dy + begin, dx + begin, end - begin, [=](std::int64_t i) {
        return slope(as_float(x[begin + i]));
      });
    });
  });
}

#define LEARN_INSTANTIATE(T)                                           \
  template void activation_forward(                                    \
      ThreadPool&, const ActivationKind&, const T*, T*, std::int64_t); \
  template void activation_backward(                                   \
      ThreadPool&, const ActivationKind&, const T*, const T*, T*, GradMode, std::int64_t);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cpu
