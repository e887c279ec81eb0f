#include "framework/kernels/norm/batch_norm.h"

#include "framework/kernels/norm/batch_norm_kernels.h"
#include "framework/kernels/norm/batch_norm_lanes_cpu.h"
#include "framework/kernels/norm/batch_norm_reference.h"
#include "framework/runtime/dispatch.h"
#include "framework/runtime/transfer.h"
#include "framework/tensor/factory.h"

#include <algorithm>

namespace learn::kernels {
namespace {

constexpr std::string_view kOp = "batch_norm";

void check_like(const Tensor& x, std::string_view what, const Tensor& other) {
  check(other.shape() == x.shape(),
        "batch_norm: {} has shape {}, x has {}",
        what,
        other.shape(),
        x.shape());
  check<DTypeError>(
      other.dtype() == x.dtype(), "batch_norm: {} is {}, x is {}", what, other.dtype(), x.dtype());
}

void check_channels(const Tensor& x, std::string_view what, const Tensor& vector) {
  check(vector.shape() == Shape{x.shape()[-1]},
        "batch_norm: {} has shape {}, x {} has {} channels",
        what,
        vector.shape(),
        x.shape(),
        x.shape()[-1]);
  check<DTypeError>(vector.dtype() == wide_dtype(x.dtype()),
                    "batch_norm: {} must be {} for {} x, not {}",
                    what,
                    wide_dtype(x.dtype()),
                    x.dtype(),
                    vector.dtype());
}

void check_x(const Context& ctx, const Tensor& x) {
  check(x.shape().rank() >= 2 && x.shape()[-1] > 0,
        "batch_norm: x must be (N,...,C) with at least one channel, not {}",
        x.shape());
  check_device(ctx, kOp, x);
}

void check_operands(const Context& ctx, const BatchNormOperands& in) {
  check_x(ctx, in.x);
  check_channels(in.x, "weight", in.weight);
  check_channels(in.x, "bias", in.bias);
  if (in.residual.defined()) check_like(in.x, "the residual", in.residual);
}

/// Checks what travels between ranks.
void check_exchanged(const Tensor& x,
                     std::string_view what,
                     const Tensor& got,
                     const Shape& shape) {
  check(got.shape() == shape, "batch_norm: {} must be {}, not {}", what, shape, got.shape());
  check<DTypeError>(got.dtype() == wide_dtype(x.dtype()),
                    "batch_norm: {} must be {} for {} x, not {}",
                    what,
                    wide_dtype(x.dtype()),
                    x.dtype(),
                    got.dtype());
}

void check_forward(const Context& ctx,
                   const BatchNormOperands& in,
                   const Tensor& running_mean,
                   const Tensor& running_var,
                   const Tensor& y,
                   const BatchNormStatistics& statistics) {
  check_operands(ctx, in);
  check_like(in.x, "y", y);
  check_channels(in.x, "running_mean", running_mean);
  check_channels(in.x, "running_var", running_var);
  check_channels(in.x, "mean", statistics.mean);
  check_channels(in.x, "rstd", statistics.rstd);
}

void check_backward(const Context& ctx,
                    const BatchNormOperands& in,
                    const BatchNormStatistics& statistics,
                    const Tensor& dy,
                    const BatchNormGradients& out) {
  check_operands(ctx, in);
  check_channels(in.x, "mean", statistics.mean);
  check_channels(in.x, "rstd", statistics.rstd);
  check_like(in.x, "dy", dy);
  if (out.x.tensor.defined()) check_like(in.x, "dx", out.x.tensor);
  if (out.residual.tensor.defined()) {
    check(in.residual.defined(),
          "batch_norm: a gradient of the residual is given without a residual");
    check_like(in.x, "the residual's gradient", out.residual.tensor);
  }
  if (out.weight.tensor.defined()) check_channels(in.x, "dweight", out.weight.tensor);
  if (out.bias.tensor.defined()) check_channels(in.x, "dbias", out.bias.tensor);
}

[[nodiscard]] std::int64_t channels_of(const Tensor& x) { return x.shape()[-1]; }
[[nodiscard]] std::int64_t rows_of(const Tensor& x) { return x.elements() / channels_of(x); }

template <class T>
[[nodiscard]] BatchNormStatisticsArgs<T> statistics_args(const Tensor& x,
                                                         const BatchNormOptions& options,
                                                         Tensor& running_mean,
                                                         Tensor& running_var,
                                                         BatchNormStatistics& statistics) {
  using Wide = WideType<T>;
  return {.rows = rows_of(x),
          .channels = channels_of(x),
          .eps = options.eps,
          .momentum = options.momentum,
          .x = x.data<T>(),
          .running_mean = running_mean.data<Wide>(),
          .running_var = running_var.data<Wide>(),
          .mean = statistics.mean.data<Wide>(),
          .rstd = statistics.rstd.data<Wide>()};
}

template <class T>
[[nodiscard]] BatchNormApplyArgs<T> apply_args(const BatchNormOperands& in,
                                               const BatchNormStatistics& statistics,
                                               const BatchNormOptions& options,
                                               Tensor& y) {
  using Wide = WideType<T>;
  return {.rows = rows_of(in.x),
          .channels = channels_of(in.x),
          .activation = options.activation,
          .residual_before_activation = options.residual_before_activation,
          .x = in.x.data<T>(),
          .residual = data_or_null<T>(in.residual),
          .weight = in.weight.data<Wide>(),
          .bias = in.bias.data<Wide>(),
          .mean = statistics.mean.data<Wide>(),
          .rstd = statistics.rstd.data<Wide>(),
          .y = y.data<T>()};
}

template <class T>
[[nodiscard]] BatchNormBackwardArgs<T> backward_args(BatchNormPass pass,
                                                     const BatchNormOperands& in,
                                                     const BatchNormStatistics& statistics,
                                                     const BatchNormOptions& options,
                                                     const Tensor& dy,
                                                     BatchNormGradients& out) {
  using Wide = WideType<T>;
  return {.rows = rows_of(in.x),
          .channels = channels_of(in.x),
          .activation = options.activation,
          .residual_before_activation = options.residual_before_activation,
          .batch_statistics = pass == BatchNormPass::train,
          .x = in.x.data<T>(),
          .residual = data_or_null<T>(in.residual),
          .dy = dy.data<T>(),
          .weight = in.weight.data<Wide>(),
          .bias = in.bias.data<Wide>(),
          .mean = statistics.mean.data<Wide>(),
          .rstd = statistics.rstd.data<Wide>(),
          .dx = data_or_null<T>(out.x.tensor),
          .dresidual = data_or_null<T>(out.residual.tensor),
          .dweight = data_or_null<Wide>(out.weight.tensor),
          .dbias = data_or_null<Wide>(out.bias.tensor),
          .dx_mode = out.x.mode,
          .dresidual_mode = out.residual.mode,
          .dweight_mode = out.weight.mode,
          .dbias_mode = out.bias.mode};
}

void apply(Context& ctx,
           const BatchNormOperands& in,
           const BatchNormStatistics& statistics,
           const BatchNormOptions& options,
           Tensor& y) {
  dispatch(ctx, kOp, in.x.dtype(), [&]<class T>(const auto& exec) {
    batch_norm_apply(exec, apply_args<T>(in, statistics, options, y));
  });
}

}  // namespace

void batch_norm_train(Context& ctx,
                      const BatchNormOperands& in,
                      Tensor& running_mean,
                      Tensor& running_var,
                      const BatchNormOptions& options,
                      Tensor& y,
                      BatchNormStatistics& statistics) {
  check_forward(ctx, in, running_mean, running_var, y, statistics);
  check<Error>(
      rows_of(in.x) > 1,
      "batch_norm: training needs more than one value per channel, but x is {}: use batches of at "
      "least two samples (LoaderOptions::drop_last skips a smaller last batch), or eval mode",
      in.x.shape());
  dispatch(ctx, kOp, in.x.dtype(), [&]<class T>(const auto& exec) {
    batch_norm_statistics(exec,
                          statistics_args<T>(in.x, options, running_mean, running_var, statistics));
  });
  apply(ctx, in, statistics, options, y);
}

void batch_norm_eval(Context& ctx,
                     const BatchNormOperands& in,
                     const Tensor& running_mean,
                     const Tensor& running_var,
                     const BatchNormOptions& options,
                     Tensor& y,
                     BatchNormStatistics& statistics) {
  check_forward(ctx, in, running_mean, running_var, y, statistics);
  dispatch(ctx, kOp, in.x.dtype(), [&]<class T>(const auto& exec) {
    using Wide = WideType<T>;
    batch_norm_running_statistics(exec,
                                  running_mean.data<Wide>(),
                                  running_var.data<Wide>(),
                                  options.eps,
                                  statistics.mean.data<Wide>(),
                                  statistics.rstd.data<Wide>(),
                                  channels_of(in.x));
  });
  apply(ctx, in, statistics, options, y);
}

void batch_norm_affine(Context& ctx,
                       const Tensor& weight,
                       const Tensor& bias,
                       const Tensor& running_mean,
                       const Tensor& running_var,
                       float eps,
                       Tensor& scale,
                       Tensor& shift) {
  for (const Tensor* const vector : {&bias, &running_mean, &running_var})
    check(vector->shape() == weight.shape(),
          "batch_norm: vectors of {} and {} values for one layer",
          weight.elements(),
          vector->elements());
  struct {
    const float *weight, *bias, *mean, *rstd;
  } args{weight.data<float>(), bias.data<float>(), nullptr, nullptr};
  const std::int64_t channels = weight.elements();
  const cpu::Exec exec{ctx.threads(), ctx.step()};
  const cpu::ChannelFolding folding(1, channels);
  const cpu::FloatWorkspace memory(exec.workspace, 4 * folding.width);
  float* const mean = memory.data();
  float* const rstd = mean + folding.width;
  float* const wide_scale = rstd + folding.width;
  float* const wide_shift = wide_scale + folding.width;
  cpu::batch_norm_running_statistics(
      exec, running_mean.data<float>(), running_var.data<float>(), eps, mean, rstd, channels);
  args.mean = mean;
  args.rstd = rstd;
  cpu::batch_norm_affine(args, folding, wide_scale, wide_shift);
  std::copy_n(wide_scale, channels, scale.span<float>().begin());
  std::copy_n(wide_shift, channels, shift.span<float>().begin());
}

void batch_norm_backward(Context& ctx,
                         BatchNormPass pass,
                         const BatchNormOperands& in,
                         const BatchNormStatistics& statistics,
                         const BatchNormOptions& options,
                         const Tensor& dy,
                         BatchNormGradients& out) {
  check_backward(ctx, in, statistics, dy, out);
  dispatch(ctx, kOp, in.x.dtype(), [&]<class T>(const auto& exec) {
    batch_norm_backward(exec, backward_args<T>(pass, in, statistics, options, dy, out));
  });
}

void batch_norm_moments(Context& ctx, const Tensor& x, Tensor& moments) {
  check_x(ctx, x);
  check_exchanged(x, "moments", moments, {2 * channels_of(x) + 1});
  check(rows_of(x) > 0, "batch_norm: x {} has no rows whose moments could be computed", x.shape());
  dispatch(ctx, kOp, x.dtype(), [&]<class T>(const auto& exec) {
    batch_norm_moments(exec,
                       BatchNormMomentsArgs<T>{.rows = rows_of(x),
                                               .channels = channels_of(x),
                                               .x = x.data<T>(),
                                               .moments = moments.data<WideType<T>>()});
  });
}

void batch_norm_train_joined(Context& ctx,
                             const BatchNormOperands& in,
                             const Tensor& moments,
                             bool suffices,
                             Tensor& running_mean,
                             Tensor& running_var,
                             const BatchNormOptions& options,
                             Tensor& y,
                             BatchNormStatistics& statistics,
                             Tensor& rows) {
  check_forward(ctx, in, running_mean, running_var, y, statistics);
  check(
      moments.shape().rank() == 2, "batch_norm: moments must be (R,2C+1), not {}", moments.shape());
  const std::int64_t channels = channels_of(in.x);
  const std::int64_t ranks = moments.shape()[0];
  check_exchanged(in.x, "moments", moments, {ranks, 2 * channels + 1});
  check_exchanged(in.x, "rows", rows, {1});
  if (!suffices) {
    const Tensor host = to_host(ctx, moments);
    double all = 0;
    for (std::int64_t r = 0; r < ranks; ++r) all += get(host, (r + 1) * (2 * channels + 1) - 1);
    check<Error>(all > 1,
                 "batch_norm: training needs more than one value per channel, but {} ranks have {} "
                 "in all: use larger batches, or eval mode",
                 ranks,
                 all);
  }
  dispatch(ctx, kOp, in.x.dtype(), [&]<class T>(const auto& exec) {
    using Wide = WideType<T>;
    batch_norm_join_moments(exec,
                            BatchNormJoinArgs<Wide>{.ranks = ranks,
                                                    .channels = channels,
                                                    .eps = options.eps,
                                                    .momentum = options.momentum,
                                                    .moments = moments.data<Wide>(),
                                                    .running_mean = running_mean.data<Wide>(),
                                                    .running_var = running_var.data<Wide>(),
                                                    .mean = statistics.mean.data<Wide>(),
                                                    .rstd = statistics.rstd.data<Wide>(),
                                                    .rows = rows.data<Wide>()});
  });
  apply(ctx, in, statistics, options, y);
}

void batch_norm_gradient_sums(Context& ctx,
                              const BatchNormOperands& in,
                              const BatchNormStatistics& statistics,
                              const BatchNormOptions& options,
                              const Tensor& dy,
                              Tensor& sums) {
  BatchNormGradients none;
  check_backward(ctx, in, statistics, dy, none);
  check_exchanged(in.x, "sums", sums, {2 * channels_of(in.x)});
  dispatch(ctx, kOp, in.x.dtype(), [&]<class T>(const auto& exec) {
    batch_norm_gradient_sums(
        exec,
        backward_args<T>(BatchNormPass::train, in, statistics, options, dy, none),
        sums.data<WideType<T>>());
  });
}

void batch_norm_backward_joined(Context& ctx,
                                const BatchNormOperands& in,
                                const BatchNormStatistics& statistics,
                                const BatchNormRankSums& sums,
                                const BatchNormOptions& options,
                                const Tensor& dy,
                                BatchNormGradients& out) {
  check_backward(ctx, in, statistics, dy, out);
  check(sums.all.shape().rank() == 2,
        "batch_norm: all sums must be (R,2C), not {}",
        sums.all.shape());
  const std::int64_t ranks = sums.all.shape()[0];
  check_exchanged(in.x, "own sums", sums.own, {2 * channels_of(in.x)});
  check_exchanged(in.x, "all sums", sums.all, {ranks, 2 * channels_of(in.x)});
  check_exchanged(in.x, "rows", sums.rows, {1});
  const BatchNormPass pass = sums.counted ? BatchNormPass::train : BatchNormPass::eval;
  dispatch(ctx, kOp, in.x.dtype(), [&]<class T>(const auto& exec) {
    using Wide = WideType<T>;
    batch_norm_joined_backward(exec,
                               backward_args<T>(pass, in, statistics, options, dy, out),
                               BatchNormRankSumsArgs<Wide>{.ranks = ranks,
                                                           .own = sums.own.data<Wide>(),
                                                           .all = sums.all.data<Wide>(),
                                                           .rows = sums.rows.data<Wide>()});
  });
}

}  // namespace learn::kernels
