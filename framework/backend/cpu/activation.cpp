#include "framework/backend/cpu/activation.h"

#include "framework/backend/cpu/activation_functions.h"
#include "framework/backend/cpu/vectorize.h"
#include "framework/core/dtype.h"
#include "framework/tensor/convert.h"

namespace learn::backend::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;  // about 10 microseconds of memory traffic

}  // namespace

template <class T>
void activation_forward(
    ThreadPool& threads, const ActivationKind& kind, const T* x, T* y, std::int64_t n) {
  with_activation(kind, [&](auto value, auto) {
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
  with_activation(kind, [&](auto, auto slope) {
    simd::parallel_for(threads, n, kGrain, [=](std::int64_t begin, std::int64_t end) {
      if (mode == GradMode::overwrite) {
        LEARN_VECTORIZE
        for (std::int64_t i = begin; i < end; ++i)
          dx[i] = from_float<T>(as_float(dy[i]) * slope(as_float(x[i])));
      } else {
        LEARN_VECTORIZE
        for (std::int64_t i = begin; i < end; ++i)
          dx[i] = from_float<T>(as_float(dx[i]) + as_float(dy[i]) * slope(as_float(x[i])));
      }
    });
  });
}

#define LEARN_INSTANTIATE(T)                                           \
  template void activation_forward(                                    \
      ThreadPool&, const ActivationKind&, const T*, T*, std::int64_t); \
  template void activation_backward(                                   \
      ThreadPool&, const ActivationKind&, const T*, const T*, T*, GradMode, std::int64_t);
LEARN_INSTANTIATE(float)
LEARN_INSTANTIATE(Half)
LEARN_INSTANTIATE(BFloat16)
#undef LEARN_INSTANTIATE

}  // namespace learn::backend::cpu
