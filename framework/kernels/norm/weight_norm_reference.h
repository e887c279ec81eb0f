#pragma once
#include "framework/kernels/norm/weight_norm_kernels.h"
#include "framework/tensor/convert.h"

#include <cmath>
#include <cstdint>

/// Row by row, in double.
namespace learn::reference {

template <class T>
void weight_norm_forward(Exec, const kernels::WeightNormArgs<T>& args) {
  for (std::int64_t row = 0; row < args.rows; ++row) {
    const T* v = args.v + row * args.columns;
    double squares = 0;
    for (std::int64_t i = 0; i < args.columns; ++i) squares += as_double(v[i]) * as_double(v[i]);
    const double norm = std::sqrt(squares);
    for (std::int64_t i = 0; i < args.columns; ++i)
      args.w[row * args.columns + i] =
          from_double<T>(as_double(args.g[row]) / norm * as_double(v[i]));
    args.norms[row] = static_cast<WideType<T>>(norm);
  }
}

template <class T>
void weight_norm_backward(Exec, const kernels::WeightNormBackwardArgs<T>& args) {
  const auto before = [](GradMode mode, auto value) {
    return mode == GradMode::accumulate ? as_double(value) : 0;
  };
  for (std::int64_t row = 0; row < args.rows; ++row) {
    const T* v = args.v + row * args.columns;
    const T* dw = args.dw + row * args.columns;
    double product = 0;
    for (std::int64_t i = 0; i < args.columns; ++i) product += as_double(v[i]) * as_double(dw[i]);
    const double norm = as_double(args.norms[row]);
    const double length = product / norm;
    if (args.dg != nullptr)
      args.dg[row] = static_cast<WideType<T>>(before(args.dg_mode, args.dg[row]) + length);
    if (args.dv == nullptr) continue;
    T* dv = args.dv + row * args.columns;
    for (std::int64_t i = 0; i < args.columns; ++i)
      dv[i] = from_double<T>(before(args.dv_mode, dv[i]) +
                             as_double(args.g[row]) / norm *
                                 (as_double(dw[i]) - as_double(v[i]) * length / norm));
  }
}

}  // namespace learn::reference
