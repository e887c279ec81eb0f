#pragma once
#include "framework/core/random.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/tensor/convert.h"

#include <cstdint>

/// The oracle: plain loops in double, whatever the storage type, rounded once at the end.
namespace learn::cpu::reference {

/// `target` becomes `value`, or the sum of both.
template <class T>
void put(T& target, double value, GradMode mode) {
  target = from_double<T>(mode == GradMode::accumulate ? as_double(target) + value : value);
}

template <class T>
void add(const T* a, const T* b, T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = from_double<T>(as_double(a[i]) + as_double(b[i]));
}

template <class T>
void multiply(const T* a, const T* b, T* y, GradMode mode, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) put(y[i], as_double(a[i]) * as_double(b[i]), mode);
}

template <class T>
void scale(const T* x, double factor, T* y, GradMode mode, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) put(y[i], factor * as_double(x[i]), mode);
}

template <class T>
void add_bias(const T* x, const T* bias, T* y, std::int64_t rows, std::int64_t channels) {
  for (std::int64_t i = 0; i < rows * channels; ++i)
    y[i] = from_double<T>(as_double(x[i]) + as_double(bias[i % channels]));
}

template <class T>
void dropout(std::uint64_t seed,
             double p,
             std::uint64_t batch,
             std::uint64_t stream,
             const T* x,
             T* y,
             GradMode mode,
             std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t element = (stream << 40U) + static_cast<std::uint64_t>(i);
    const Random4 r = random4(seed, RandomPurpose::dropout, batch, element);
    const bool kept = !(static_cast<double>(uniform01(r.v[0])) < p);
    put(y[i], kept ? as_double(x[i]) / (1 - p) : 0, mode);
  }
}

template <class T>
void copy_into_columns(const T* x,
                       T* y,
                       std::int64_t outer,
                       std::int64_t inner,
                       std::int64_t width,
                       std::int64_t offset) {
  for (std::int64_t r = 0; r < outer; ++r)
    for (std::int64_t c = 0; c < inner; ++c) y[r * width + offset + c] = x[r * inner + c];
}

template <class T>
void copy_from_columns(const T* y,
                       T* x,
                       std::int64_t outer,
                       std::int64_t inner,
                       std::int64_t width,
                       std::int64_t offset,
                       GradMode mode) {
  for (std::int64_t r = 0; r < outer; ++r)
    for (std::int64_t c = 0; c < inner; ++c)
      put(x[r * inner + c], as_double(y[r * width + offset + c]), mode);
}

}  // namespace learn::cpu::reference
