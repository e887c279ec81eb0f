#pragma once
#include "framework/core/random.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/elementwise/elementwise_kernels.h"
#include "framework/tensor/convert.h"

#include <cstdint>

/// Plain loops in double for every storage type, with one rounding at the end.
namespace learn::reference {

/// Sets `target` to `value`, or adds `value` to it.
template <class T>
void put(T& target, double value, GradMode mode) {
  target = from_double<T>(mode == GradMode::accumulate ? as_double(target) + value : value);
}

template <class T>
void add(Exec, const T* a, const T* b, T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = from_double<T>(as_double(a[i]) + as_double(b[i]));
}

template <class T>
void multiply(Exec, const T* a, const T* b, T* y, GradMode mode, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) put(y[i], as_double(a[i]) * as_double(b[i]), mode);
}

template <class T>
void scale(Exec, const T* x, double factor, T* y, GradMode mode, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) put(y[i], factor * as_double(x[i]), mode);
}

template <class T>
void add_bias(Exec, const T* x, const T* bias, T* y, std::int64_t rows, std::int64_t channels) {
  for (std::int64_t i = 0; i < rows * channels; ++i)
    y[i] = from_double<T>(as_double(x[i]) + as_double(bias[i % channels]));
}

template <class T>
void dropout(Exec, const kernels::DropoutDraw& d, const T* x, T* y, GradMode mode, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const Random4 r = random4(d.seed,
                              RandomPurpose::dropout,
                              static_cast<std::uint64_t>(*d.batch),
                              d.first_element + static_cast<std::uint64_t>(i));
    const bool kept = !(static_cast<double>(uniform01(r.v[0])) < d.p);
    put(y[i], kept ? as_double(x[i]) / (1 - d.p) : 0, mode);
  }
}

template <class T>
void copy_into_columns(Exec, const T* x, T* y, const kernels::Columns& part) {
  for (std::int64_t r = 0; r < part.outer; ++r)
    for (std::int64_t c = 0; c < part.inner; ++c)
      y[r * part.width + part.offset + c] = x[r * part.inner + c];
}

template <class T>
void copy_from_columns(Exec, const T* y, T* x, const kernels::Columns& part, GradMode mode) {
  for (std::int64_t r = 0; r < part.outer; ++r)
    for (std::int64_t c = 0; c < part.inner; ++c)
      put(x[r * part.inner + c], as_double(y[r * part.width + part.offset + c]), mode);
}

}  // namespace learn::reference
