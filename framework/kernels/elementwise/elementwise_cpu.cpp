#include "framework/kernels/elementwise/elementwise_cpu.h"

#include "framework/core/random.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cmath>

namespace learn::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;       // about 10 microseconds of memory traffic
constexpr std::int64_t kRandomGrain = 2048;  // ten rounds of Philox for each element

/// y[i] (+)= value(i) for f32 values.
template <class T, class Value>
void write_each(
    ThreadPool& threads, T* y, GradMode mode, std::int64_t n, std::int64_t grain, Value value) {
  simd::parallel_for(threads, n, grain, [=](std::int64_t begin, std::int64_t end) {
    if (mode == GradMode::overwrite) {
      LEARN_VECTORIZE
      for (std::int64_t i = begin; i < end; ++i) y[i] = from_float<T>(value(i));
    } else {
      LEARN_VECTORIZE
      for (std::int64_t i = begin; i < end; ++i) y[i] = from_float<T>(as_float(y[i]) + value(i));
    }
  });
}

/// Rows of one chunk, so that a chunk holds about `kGrain` elements.
std::int64_t row_grain(std::int64_t columns) {
  return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, columns));
}

}  // namespace

template <class T>
void add(ThreadPool& threads, const T* a, const T* b, T* y, std::int64_t n) {
  write_each(threads, y, GradMode::overwrite, n, kGrain, [=](std::int64_t i) {
    return as_float(a[i]) + as_float(b[i]);
  });
}

template <class T>
void multiply(ThreadPool& threads, const T* a, const T* b, T* y, GradMode mode, std::int64_t n) {
  write_each(
      threads, y, mode, n, kGrain, [=](std::int64_t i) { return as_float(a[i]) * as_float(b[i]); });
}

template <class T>
void scale(ThreadPool& threads, const T* x, float factor, T* y, GradMode mode, std::int64_t n) {
  write_each(threads, y, mode, n, kGrain, [=](std::int64_t i) { return factor * as_float(x[i]); });
}

template <class T>
void add_bias(ThreadPool& threads,
              const T* x,
              const T* bias,
              T* y,
              std::int64_t rows,
              std::int64_t channels) {
  simd::parallel_for(threads, rows, row_grain(channels), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const T* in = x + r * channels;
      T* out = y + r * channels;
      LEARN_VECTORIZE
      for (std::int64_t c = 0; c < channels; ++c)
        out[c] = from_float<T>(as_float(in[c]) + as_float(bias[c]));
    }
  });
}

template <class T>
void dropout(ThreadPool& threads,
             std::uint64_t seed,
             double p,
             std::uint64_t batch,
             std::uint64_t stream,
             const T* x,
             T* y,
             GradMode mode,
             std::int64_t n) {
  const auto factor = static_cast<float>(1 / (1 - p));
  // uniform01 is the upper 24 bits times 2^-24, so "below p" is a comparison of integers.
  const auto first_kept = static_cast<std::uint32_t>(std::ceil(p * 0x1p24));
  write_each(threads, y, mode, n, kRandomGrain, [=](std::int64_t i) {
    const std::uint64_t element = (stream << 40U) + static_cast<std::uint64_t>(i);
    const Random4 r = random4(seed, RandomPurpose::dropout, batch, element);
    const float kept = as_float(x[i]) * factor;
    return (r.v[0] >> 8U) >= first_kept ? kept : 0.0F;
  });
}

template <class T>
void copy_into_columns(ThreadPool& threads,
                       const T* x,
                       T* y,
                       std::int64_t outer,
                       std::int64_t inner,
                       std::int64_t width,
                       std::int64_t offset) {
  threads.parallel_for(outer, row_grain(inner), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r)
      std::copy_n(x + r * inner, inner, y + r * width + offset);
  });
}

template <class T>
void copy_from_columns(ThreadPool& threads,
                       const T* y,
                       T* x,
                       std::int64_t outer,
                       std::int64_t inner,
                       std::int64_t width,
                       std::int64_t offset,
                       GradMode mode) {
  simd::parallel_for(threads, outer, row_grain(inner), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const T* from = y + r * width + offset;
      T* to = x + r * inner;
      if (mode == GradMode::overwrite) {
        LEARN_VECTORIZE
        for (std::int64_t c = 0; c < inner; ++c) simd::assign(to[c], from[c]);
      } else {
        LEARN_VECTORIZE
        for (std::int64_t c = 0; c < inner; ++c)
          to[c] = from_float<T>(as_float(to[c]) + as_float(from[c]));
      }
    }
  });
}

#define LEARN_INSTANTIATE(T)                                                               \
  template void add(ThreadPool&, const T*, const T*, T*, std::int64_t);                    \
  template void multiply(ThreadPool&, const T*, const T*, T*, GradMode, std::int64_t);     \
  template void scale(ThreadPool&, const T*, float, T*, GradMode, std::int64_t);           \
  template void add_bias(ThreadPool&, const T*, const T*, T*, std::int64_t, std::int64_t); \
  template void dropout(ThreadPool&,                                                       \
                        std::uint64_t,                                                     \
                        double,                                                            \
                        std::uint64_t,                                                     \
                        std::uint64_t,                                                     \
                        const T*,                                                          \
                        T*,                                                                \
                        GradMode,                                                          \
                        std::int64_t);                                                     \
  template void copy_into_columns(                                                         \
      ThreadPool&, const T*, T*, std::int64_t, std::int64_t, std::int64_t, std::int64_t);  \
  template void copy_from_columns(ThreadPool&,                                             \
                                  const T*,                                                \
                                  T*,                                                      \
                                  std::int64_t,                                            \
                                  std::int64_t,                                            \
                                  std::int64_t,                                            \
                                  std::int64_t,                                            \
                                  GradMode);
LEARN_INSTANTIATE(float)
LEARN_INSTANTIATE(Half)
LEARN_INSTANTIATE(BFloat16)
#undef LEARN_INSTANTIATE

}  // namespace learn::cpu
