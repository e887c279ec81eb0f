#pragma once
#include "framework/kernels/common/bias_reference.h"
#include "framework/kernels/common/grad_mode.h"
#include "framework/kernels/conv/conv_geometry.h"
#include "framework/runtime/exec.h"
#include "framework/tensor/convert.h"

#include <cstdint>
#include <vector>

/// The definition as plain loops, summed in double with one rounding at the end.
namespace learn::reference {

/// Calls `body(y index, x index, weight index)` for every product of the convolution.
template <class Body>
void for_each_product(const ConvGeometry& g, Body&& body) {
  const Conv2dOptions& o = g.options;
  for (std::int64_t n = 0; n < g.n; ++n)
    for (std::int64_t p = 0; p < g.p; ++p)
      for (std::int64_t q = 0; q < g.q; ++q)
        for (std::int64_t k = 0; k < g.k; ++k)
          for (std::int64_t r = 0; r < g.r; ++r)
            for (std::int64_t s = 0; s < g.s; ++s) {
              const std::int64_t h = p * o.stride_h - o.pad_top + r;
              const std::int64_t w = q * o.stride_w - o.pad_left + s;
              if (h < 0 || h >= g.h || w < 0 || w >= g.w) continue;
              const std::int64_t first_c = k / g.group_k() * g.group_c();
              for (std::int64_t c = 0; c < g.group_c(); ++c)
                body(((n * g.p + p) * g.q + q) * g.k + k,
                     ((n * g.h + h) * g.w + w) * g.c + first_c + c,
                     ((k * g.r + r) * g.s + s) * g.group_c() + c);
            }
}

/// Computes y = x * w [+ bias]; `bias` may be null.
template <class T>
void conv2d_forward(Exec, const ConvGeometry& g, const T* x, const T* weight, const T* bias, T* y) {
  std::vector<double> sums(static_cast<std::size_t>(g.y_elements()));
  if (bias != nullptr)
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] = as_double(bias[i % static_cast<std::size_t>(g.k)]);
  for_each_product(g, [&](std::int64_t yi, std::int64_t xi, std::int64_t wi) {
    sums[static_cast<std::size_t>(yi)] += as_double(x[xi]) * as_double(weight[wi]);
  });
  round_sums(sums, y, GradMode::overwrite);
}

template <class T>
void conv2d_backward_data(
    Exec, const ConvGeometry& g, const T* dy, const T* weight, T* dx, GradMode mode) {
  std::vector<double> sums(static_cast<std::size_t>(g.x_elements()));
  for_each_product(g, [&](std::int64_t yi, std::int64_t xi, std::int64_t wi) {
    sums[static_cast<std::size_t>(xi)] += as_double(dy[yi]) * as_double(weight[wi]);
  });
  round_sums(sums, dx, mode);
}

template <class T>
void conv2d_backward_weight(
    Exec, const ConvGeometry& g, const T* x, const T* dy, T* dw, GradMode mode) {
  std::vector<double> sums(static_cast<std::size_t>(g.weight_elements()));
  for_each_product(g, [&](std::int64_t yi, std::int64_t xi, std::int64_t wi) {
    sums[static_cast<std::size_t>(wi)] += as_double(x[xi]) * as_double(dy[yi]);
  });
  round_sums(sums, dw, mode);
}

}  // namespace learn::reference
