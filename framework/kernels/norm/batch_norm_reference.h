#pragma once
#include "framework/kernels/common/activation_reference.h"
#include "framework/kernels/norm/batch_norm_kernels.h"
#include "framework/tensor/convert.h"

#include <cmath>
#include <cstdint>

/// Channel by channel in double, with statistics in two passes.
namespace learn::reference {

using kernels::BatchNormApplyArgs;
using kernels::BatchNormBackwardArgs;
using kernels::BatchNormStatisticsArgs;

template <class T>
void batch_norm_statistics(Exec, const BatchNormStatisticsArgs<T>& args) {
  using Wide = WideType<T>;
  const auto count = static_cast<double>(args.rows);
  for (std::int64_t c = 0; c < args.channels; ++c) {
    double mean = 0;
    for (std::int64_t i = 0; i < args.rows; ++i) mean += as_double(args.x[i * args.channels + c]);
    mean /= count;
    double squares = 0;
    for (std::int64_t i = 0; i < args.rows; ++i) {
      const double off = as_double(args.x[i * args.channels + c]) - mean;
      squares += off * off;
    }
    args.mean[c] = static_cast<Wide>(mean);
    args.rstd[c] =
        static_cast<Wide>(1 / std::sqrt(squares / count + static_cast<double>(args.eps)));
    const auto move = [&](Wide& running, double batch) {
      const auto momentum = static_cast<double>(args.momentum);
      running = static_cast<Wide>((1 - momentum) * static_cast<double>(running) + momentum * batch);
    };
    move(args.running_mean[c], mean);
    move(args.running_var[c], squares / (count - 1));
  }
}

/// Returns bn(x) of element `i`, before residual and activation.
template <class Args>
[[nodiscard]] double batch_normalized(const Args& args, std::int64_t i) {
  const std::int64_t c = i % args.channels;
  return (as_double(args.x[i]) - as_double(args.mean[c])) * as_double(args.rstd[c]) *
             as_double(args.weight[c]) +
         as_double(args.bias[c]);
}

template <class T>
void batch_norm_apply(Exec, const BatchNormApplyArgs<T>& args) {
  for (std::int64_t i = 0; i < args.rows * args.channels; ++i) {
    const double residual = args.residual != nullptr ? as_double(args.residual[i]) : 0;
    const double normalized = batch_normalized(args, i);
    const double y = args.residual_before_activation
                         ? activate(args.activation, normalized + residual)
                         : activate(args.activation, normalized) + residual;
    args.y[i] = from_double<T>(y);
  }
}

/// Returns d loss / d (the activation's input) of element `i`.
template <class T>
[[nodiscard]] double batch_norm_inner_gradient(const BatchNormBackwardArgs<T>& args,
                                               std::int64_t i) {
  double inner = batch_normalized(args, i);
  if (args.residual != nullptr && args.residual_before_activation)
    inner += as_double(args.residual[i]);
  return as_double(args.dy[i]) * activation_slope(args.activation, inner);
}

/// With xhat = (x - mean) * rstd and g the gradient of bn(x):
/// dx = weight * rstd * (g - mean(g) - xhat * mean(g * xhat)), Ioffe and Szegedy 2015, section 3.
template <class T>
void batch_norm_backward(Exec, const BatchNormBackwardArgs<T>& args) {
  const auto before = [](GradMode mode, auto value) {
    return mode == GradMode::accumulate ? as_double(value) : 0;
  };
  const auto count = static_cast<double>(args.rows);
  for (std::int64_t c = 0; c < args.channels; ++c) {
    const double mean = as_double(args.mean[c]);
    const double rstd = as_double(args.rstd[c]);
    double sum = 0;
    double sum_xhat = 0;
    for (std::int64_t i = c; i < args.rows * args.channels; i += args.channels) {
      const double g = batch_norm_inner_gradient(args, i);
      sum += g;
      sum_xhat += g * (as_double(args.x[i]) - mean) * rstd;
    }
    for (std::int64_t i = c; i < args.rows * args.channels; i += args.channels) {
      const double g = batch_norm_inner_gradient(args, i);
      double through_statistics = 0;  // without batch statistics, an infinite x has no effect
      if (args.batch_statistics) {
        const double xhat = (as_double(args.x[i]) - mean) * rstd;
        through_statistics = sum / count + xhat * (sum_xhat / count);
      }
      if (args.dx != nullptr)
        args.dx[i] = from_double<T>(before(args.dx_mode, args.dx[i]) +
                                    as_double(args.weight[c]) * rstd * (g - through_statistics));
      if (args.dresidual != nullptr)
        args.dresidual[i] =
            from_double<T>(before(args.dresidual_mode, args.dresidual[i]) +
                           (args.residual_before_activation ? g : as_double(args.dy[i])));
    }
    using Wide = WideType<T>;
    if (args.dweight != nullptr)
      args.dweight[c] = static_cast<Wide>(before(args.dweight_mode, args.dweight[c]) + sum_xhat);
    if (args.dbias != nullptr)
      args.dbias[c] = static_cast<Wide>(before(args.dbias_mode, args.dbias[c]) + sum);
  }
}

template <class Wide>
void batch_norm_running_statistics(Exec,
                                   const Wide* running_mean,
                                   const Wide* running_var,
                                   float eps,
                                   Wide* mean,
                                   Wide* rstd,
                                   std::int64_t channels) {
  for (std::int64_t c = 0; c < channels; ++c) {
    mean[c] = running_mean[c];
    rstd[c] =
        static_cast<Wide>(1 / std::sqrt(as_double(running_var[c]) + static_cast<double>(eps)));
  }
}

}  // namespace learn::reference
