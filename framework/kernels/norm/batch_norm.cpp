#include "framework/kernels/norm/batch_norm.h"

#include "framework/kernels/norm/batch_norm_kernels.h"
#include "framework/kernels/norm/batch_norm_lanes_cpu.h"
#include "framework/kernels/norm/batch_norm_reference.h"
#include "framework/runtime/dispatch.h"

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

void check_operands(const Context& ctx, const BatchNormOperands& in) {
  check(in.x.shape().rank() >= 2 && in.x.shape()[-1] > 0,
        "batch_norm: x must be (N,...,C) with at least one channel, not {}",
        in.x.shape());
  check_device(ctx, kOp, in.x);
  check_channels(in.x, "weight", in.weight);
  check_channels(in.x, "bias", in.bias);
  if (in.residual.defined()) check_like(in.x, "the residual", in.residual);
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
  check_operands(ctx, in);
  check_like(in.x, "y", y);
  check_channels(in.x, "running_mean", running_mean);
  check_channels(in.x, "running_var", running_var);
  check_channels(in.x, "mean", statistics.mean);
  check_channels(in.x, "rstd", statistics.rstd);
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
  check_operands(ctx, in);
  check_like(in.x, "y", y);
  check_channels(in.x, "running_mean", running_mean);
  check_channels(in.x, "running_var", running_var);
  check_channels(in.x, "mean", statistics.mean);
  check_channels(in.x, "rstd", statistics.rstd);
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
  check_operands(ctx, in);
  check_like(in.x, "dy", dy);
  check_channels(in.x, "mean", statistics.mean);
  check_channels(in.x, "rstd", statistics.rstd);
  if (out.x.tensor.defined()) check_like(in.x, "dx", out.x.tensor);
  if (out.residual.tensor.defined()) {
    check(in.residual.defined(),
          "batch_norm: a gradient of the residual is given without a residual");
    check_like(in.x, "the residual's gradient", out.residual.tensor);
  }
  if (out.weight.tensor.defined()) check_channels(in.x, "dweight", out.weight.tensor);
  if (out.bias.tensor.defined()) check_channels(in.x, "dbias", out.bias.tensor);
  dispatch(ctx, kOp, in.x.dtype(), [&]<class T>(const auto& exec) {
    batch_norm_backward(exec, backward_args<T>(pass, in, statistics, options, dy, out));
  });
}

}  // namespace learn::kernels
