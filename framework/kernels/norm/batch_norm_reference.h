#pragma once
#include "framework/kernels/common/activation_reference.h"
#include "framework/kernels/norm/batch_norm_kernels.h"
#include "framework/tensor/convert.h"

#include <cmath>
#include <cstdint>
#include <type_traits>

/// Channel by channel in double, with statistics in two passes.
namespace learn::reference {

using kernels::BatchNormApplyArgs;
using kernels::BatchNormBackwardArgs;
using kernels::BatchNormJoinArgs;
using kernels::BatchNormMomentsArgs;
using kernels::BatchNormRankSumsArgs;
using kernels::BatchNormStatisticsArgs;

/// Mean of a channel, and the sum of squared deviations from it.
struct ChannelMoments {
  double mean = 0;
  double squares = 0;
};

template <class T>
[[nodiscard]] ChannelMoments channel_moments(const T* x,
                                             std::int64_t rows,
                                             std::int64_t channels,
                                             std::int64_t c) {
  ChannelMoments out;
  for (std::int64_t i = 0; i < rows; ++i) out.mean += as_double(x[i * channels + c]);
  out.mean /= static_cast<double>(rows);
  for (std::int64_t i = 0; i < rows; ++i) {
    const double off = as_double(x[i * channels + c]) - out.mean;
    out.squares += off * off;
  }
  return out;
}

/// Writes mean and rstd of a channel with `count` rows, and updates its running statistics.
template <class Args>
void finish_statistics(const Args& args,
                       std::int64_t c,
                       const ChannelMoments& moments,
                       double count) {
  using Wide = std::remove_pointer_t<decltype(args.mean)>;
  args.mean[c] = static_cast<Wide>(moments.mean);
  args.rstd[c] =
      static_cast<Wide>(1 / std::sqrt(moments.squares / count + static_cast<double>(args.eps)));
  const auto move = [&](Wide& running, double batch) {
    const auto momentum = static_cast<double>(args.momentum);
    running = static_cast<Wide>((1 - momentum) * static_cast<double>(running) + momentum * batch);
  };
  move(args.running_mean[c], moments.mean);
  move(args.running_var[c], moments.squares / (count - 1));
}

template <class T>
void batch_norm_statistics(Exec, const BatchNormStatisticsArgs<T>& args) {
  for (std::int64_t c = 0; c < args.channels; ++c)
    finish_statistics(args,
                      c,
                      channel_moments(args.x, args.rows, args.channels, c),
                      static_cast<double>(args.rows));
}

template <class T>
void batch_norm_moments(Exec, const BatchNormMomentsArgs<T>& args) {
  using Wide = WideType<T>;
  for (std::int64_t c = 0; c < args.channels; ++c) {
    const ChannelMoments moments = channel_moments(args.x, args.rows, args.channels, c);
    args.moments[c] = static_cast<Wide>(moments.mean);
    args.moments[args.channels + c] = static_cast<Wide>(moments.squares);
  }
  args.moments[2 * args.channels] = static_cast<Wide>(args.rows);
}

/// Joins the moments in two passes: the mean of all rows, then the deviations from it.
template <class Wide>
void batch_norm_join_moments(Exec, const BatchNormJoinArgs<Wide>& args) {
  const auto for_ranks = [&](auto body) {
    for (std::int64_t r = 0; r < args.ranks; ++r) {
      const Wide* const part = args.moments + r * (2 * args.channels + 1);
      const double rows = as_double(part[2 * args.channels]);
      if (rows > 0) body(rows, part, part + args.channels);
    }
  };
  double count = 0;
  for_ranks([&](double rows, const Wide*, const Wide*) { count += rows; });
  args.rows[0] = static_cast<Wide>(count);
  for (std::int64_t c = 0; c < args.channels; ++c) {
    ChannelMoments all;
    for_ranks([&](double rows, const Wide* mean, const Wide*) {
      all.mean += rows / count * as_double(mean[c]);
    });
    for_ranks([&](double rows, const Wide* mean, const Wide* squares) {
      const double off = as_double(mean[c]) - all.mean;
      all.squares += as_double(squares[c]) + rows * off * off;
    });
    finish_statistics(args, c, all, count);
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

/// Sums of g, the gradient of bn(x), and of g * xhat over the rows of a channel.
struct GradientSums {
  double g = 0;
  double g_xhat = 0;
};

template <class T>
[[nodiscard]] GradientSums channel_gradient_sums(const BatchNormBackwardArgs<T>& args,
                                                 std::int64_t c) {
  GradientSums sums;
  for (std::int64_t i = c; i < args.rows * args.channels; i += args.channels) {
    const double g = batch_norm_inner_gradient(args, i);
    sums.g += g;
    sums.g_xhat += g * (as_double(args.x[i]) - as_double(args.mean[c])) * as_double(args.rstd[c]);
  }
  return sums;
}

/// Writes the gradients of a channel, with xhat = (x - mean) * rstd:
/// dx = weight * rstd * (g - mean(g) - xhat * mean(g * xhat)), Ioffe and Szegedy 2015, section 3.
/// The means come from `all` and `count` rows, the parameters' gradients from the `own` sums.
template <class T>
void write_channel_gradients(const BatchNormBackwardArgs<T>& args,
                             std::int64_t c,
                             const GradientSums& own,
                             const GradientSums& all,
                             double count) {
  const auto before = [](GradMode mode, auto value) {
    return mode == GradMode::accumulate ? as_double(value) : 0;
  };
  const double mean = as_double(args.mean[c]);
  const double rstd = as_double(args.rstd[c]);
  for (std::int64_t i = c; i < args.rows * args.channels; i += args.channels) {
    const double g = batch_norm_inner_gradient(args, i);
    double through_statistics = 0;  // without batch statistics, an infinite x has no effect
    if (args.batch_statistics) {
      const double xhat = (as_double(args.x[i]) - mean) * rstd;
      through_statistics = all.g / count + xhat * (all.g_xhat / count);
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
    args.dweight[c] = static_cast<Wide>(before(args.dweight_mode, args.dweight[c]) + own.g_xhat);
  if (args.dbias != nullptr)
    args.dbias[c] = static_cast<Wide>(before(args.dbias_mode, args.dbias[c]) + own.g);
}

template <class T>
void batch_norm_backward(Exec, const BatchNormBackwardArgs<T>& args) {
  for (std::int64_t c = 0; c < args.channels; ++c) {
    const GradientSums sums = channel_gradient_sums(args, c);
    write_channel_gradients(args, c, sums, sums, static_cast<double>(args.rows));
  }
}

template <class T>
void batch_norm_gradient_sums(Exec, const BatchNormBackwardArgs<T>& args, WideType<T>* sums) {
  for (std::int64_t c = 0; c < args.channels; ++c) {
    const GradientSums own = channel_gradient_sums(args, c);
    sums[c] = static_cast<WideType<T>>(own.g);
    sums[args.channels + c] = static_cast<WideType<T>>(own.g_xhat);
  }
}

template <class T>
void batch_norm_joined_backward(Exec,
                                const BatchNormBackwardArgs<T>& args,
                                const BatchNormRankSumsArgs<WideType<T>>& sums) {
  const std::int64_t channels = args.channels;
  for (std::int64_t c = 0; c < channels; ++c) {
    GradientSums all;
    for (std::int64_t r = 0; r < sums.ranks; ++r) {
      all.g += as_double(sums.all[2 * r * channels + c]);
      all.g_xhat += as_double(sums.all[(2 * r + 1) * channels + c]);
    }
    write_channel_gradients(args,
                            c,
                            {as_double(sums.own[c]), as_double(sums.own[channels + c])},
                            all,
                            as_double(sums.rows[0]));
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
