#include "framework/core/random.h"
#include "framework/kernels/common/cpu/vectorize.h"
#include "framework/kernels/elementwise/elementwise_kernels.h"
#include "framework/tensor/convert.h"

#include <algorithm>
#include <cmath>

namespace learn::cpu {
namespace {

constexpr std::int64_t kGrain = 16384;       // about 10 microseconds of memory traffic
constexpr std::int64_t kRandomGrain = 2048;  // ten rounds of Philox for each element

/// Computes y[i] (+)= value(i) for f32 values.
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

/// Returns the rows of one chunk, so that a chunk has about `kGrain` elements.
std::int64_t row_grain(std::int64_t columns) {
  return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, columns));
}

}  // namespace

template <class T>
void add(const Exec& exec, const T* a, const T* b, T* y, std::int64_t n) {
  write_each(exec, y, GradMode::overwrite, n, kGrain, [=](std::int64_t i) {
    return as_float(a[i]) + as_float(b[i]);
  });
}

template <class T>
void multiply(const Exec& exec, const T* a, const T* b, T* y, GradMode mode, std::int64_t n) {
  write_each(
      exec, y, mode, n, kGrain, [=](std::int64_t i) { return as_float(a[i]) * as_float(b[i]); });
}

template <class T>
void scale(const Exec& exec, const T* x, double factor, T* y, GradMode mode, std::int64_t n) {
  const auto factor32 = static_cast<float>(factor);
  write_each(exec, y, mode, n, kGrain, [=](std::int64_t i) { return factor32 * as_float(x[i]); });
}

template <class T>
void add_bias(
    const Exec& exec, const T* x, const T* bias, T* y, std::int64_t rows, std::int64_t channels) {
  simd::parallel_for(
      exec.threads, rows, row_grain(channels), [=](std::int64_t begin, std::int64_t end) {
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
void dropout(const Exec& exec,
             const kernels::DropoutDraw& draw,
             const T* x,
             T* y,
             GradMode mode,
             std::int64_t n) {
  const auto factor = static_cast<float>(1 / (1 - draw.p));
  // uniform01 is the upper 24 bits times 2^-24, so "below p" is a comparison of integers.
  const auto first_kept = static_cast<std::uint32_t>(std::ceil(draw.p * 0x1p24));
  const auto batch = static_cast<std::uint64_t>(*draw.batch);
  const std::uint64_t seed = draw.seed;
  const std::uint64_t first_element = draw.first_element;
  write_each(exec, y, mode, n, kRandomGrain, [=](std::int64_t i) {
    const std::uint64_t element = first_element + static_cast<std::uint64_t>(i);
    const Random4 r = random4(seed, RandomPurpose::dropout, batch, element);
    const float kept = as_float(x[i]) * factor;
    return (r.v[0] >> 8U) >= first_kept ? kept : 0.0F;
  });
}

template <class T>
void copy_into_columns(const Exec& exec, const T* x, T* y, const kernels::Columns& columns) {
  const std::int64_t inner = columns.inner;
  const std::int64_t width = columns.width;
  const std::int64_t offset = columns.offset;
  simd::parallel_for(
      exec.threads, columns.outer, row_grain(inner), [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          const T* from = x + r * inner;
          T* to = y + r * width + offset;
          LEARN_VECTORIZE
          for (std::int64_t c = 0; c < inner; ++c) simd::assign(to[c], from[c]);
        }
      });
}

template <class T>
void copy_from_columns(
    const Exec& exec, const T* y, T* x, const kernels::Columns& columns, GradMode mode) {
  const std::int64_t inner = columns.inner;
  const std::int64_t width = columns.width;
  const std::int64_t offset = columns.offset;
  simd::parallel_for(
      exec.threads, columns.outer, row_grain(inner), [=](std::int64_t begin, std::int64_t end) {
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
  template void add(const Exec&, const T*, const T*, T*, std::int64_t);                    \
  template void multiply(const Exec&, const T*, const T*, T*, GradMode, std::int64_t);     \
  template void scale(const Exec&, const T*, double, T*, GradMode, std::int64_t);          \
  template void add_bias(const Exec&, const T*, const T*, T*, std::int64_t, std::int64_t); \
  template void dropout(                                                                   \
      const Exec&, const kernels::DropoutDraw&, const T*, T*, GradMode, std::int64_t);     \
  template void copy_into_columns(const Exec&, const T*, T*, const kernels::Columns&);     \
  template void copy_from_columns(const Exec&, const T*, T*, const kernels::Columns&, GradMode);
LEARN_FOR_EACH_TYPE(LEARN_INSTANTIATE)
#undef LEARN_INSTANTIATE

}  // namespace learn::cpu
