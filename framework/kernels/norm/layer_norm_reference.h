#pragma once
#include "framework/kernels/norm/layer_norm_kernels.h"
#include "framework/tensor/convert.h"

#include <cmath>
#include <cstdint>
#include <vector>

/// Row by row, in double, with statistics in two passes.
namespace learn::reference {

template <class T>
void layer_norm_forward(Exec, const kernels::LayerNormArgs<T>& args) {
  const auto columns = static_cast<double>(args.columns);
  for (std::int64_t row = 0; row < args.rows; ++row) {
    const T* x = args.x + row * args.columns;
    T* y = args.y + row * args.columns;
    double mean = 0;
    for (std::int64_t i = 0; args.centered && i < args.columns; ++i) mean += as_double(x[i]);
    mean /= columns;
    double squares = 0;
    for (std::int64_t i = 0; i < args.columns; ++i) {
      const double off = as_double(x[i]) - mean;
      squares += off * off;
    }
    const double rstd = 1 / std::sqrt(squares / columns + static_cast<double>(args.eps));
    for (std::int64_t i = 0; i < args.columns; ++i)
      y[i] = from_double<T>((as_double(x[i]) - mean) * rstd * as_double(args.weight[i]) +
                            (args.bias != nullptr ? as_double(args.bias[i]) : 0));
    args.mean[row] = static_cast<WideType<T>>(mean);
    args.rstd[row] = static_cast<WideType<T>>(rstd);
  }
}

template <class T>
void layer_norm_backward(Exec, const kernels::LayerNormBackwardArgs<T>& args) {
  const auto before = [](GradMode mode, auto value) {
    return mode == GradMode::accumulate ? as_double(value) : 0;
  };
  const auto columns = static_cast<double>(args.columns);
  std::vector<double> dweight(static_cast<std::size_t>(args.columns));
  std::vector<double> dbias(static_cast<std::size_t>(args.columns));
  for (std::int64_t row = 0; row < args.rows; ++row) {
    const T* x = args.x + row * args.columns;
    const T* dy = args.dy + row * args.columns;
    const double rstd = as_double(args.rstd[row]);
    const auto xhat = [&](std::int64_t i) {
      return (as_double(x[i]) - as_double(args.mean[row])) * rstd;
    };
    const auto g = [&](std::int64_t i) { return as_double(dy[i]) * as_double(args.weight[i]); };
    double mean_g = 0;
    double mean_g_xhat = 0;
    for (std::int64_t i = 0; i < args.columns; ++i) {
      mean_g += g(i) / columns;
      mean_g_xhat += g(i) * xhat(i) / columns;
      dweight[static_cast<std::size_t>(i)] += as_double(dy[i]) * xhat(i);
      dbias[static_cast<std::size_t>(i)] += as_double(dy[i]);
    }
    if (!args.centered) mean_g = 0;
    if (args.dx == nullptr) continue;
    T* dx = args.dx + row * args.columns;
    for (std::int64_t i = 0; i < args.columns; ++i)
      dx[i] = from_double<T>(before(args.dx_mode, dx[i]) +
                             rstd * (g(i) - mean_g - xhat(i) * mean_g_xhat));
  }
  const auto put = [&](auto* out, GradMode mode, const std::vector<double>& sums) {
    if (out == nullptr) return;
    for (std::int64_t i = 0; i < args.columns; ++i)
      out[i] = static_cast<WideType<T>>(before(mode, out[i]) + sums[static_cast<std::size_t>(i)]);
  };
  put(args.dweight, args.dweight_mode, dweight);
  put(args.dbias, args.dbias_mode, dbias);
}

}  // namespace learn::reference
