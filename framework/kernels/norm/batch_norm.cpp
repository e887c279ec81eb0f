#include "framework/kernels/norm/batch_norm.h"

#include "framework/kernels/norm/batch_norm_cpu.h"
#include "framework/kernels/norm/batch_norm_cuda.h"
#include "framework/kernels/norm/batch_norm_reference.h"
#include "framework/runtime/dispatch.h"
#include "framework/tensor/convert.h"

#include <cmath>

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
                    "batch_norm: {} must be {} for {} x, it is {}",
                    what,
                    wide_dtype(x.dtype()),
                    x.dtype(),
                    vector.dtype());
}

void check_operands(const Context& ctx, const BatchNormOperands& in) {
  check(in.x.shape().rank() >= 2 && in.x.shape()[-1] > 0,
        "batch_norm: x must be (N,...,C) with at least one channel, it is {}",
        in.x.shape());
  check_device(ctx, kOp, in.x);
  check_channels(in.x, "weight", in.weight);
  check_channels(in.x, "bias", in.bias);
  if (in.residual.defined()) check_like(in.x, "the residual", in.residual);
}

[[nodiscard]] std::int64_t channels_of(const Tensor& x) { return x.shape()[-1]; }
[[nodiscard]] std::int64_t rows_of(const Tensor& x) { return x.elements() / channels_of(x); }

[[nodiscard]] Tensor workspace_for(Context& ctx, const Tensor& x) {
  return ctx.empty({cpu::batch_norm_workspace(rows_of(x), channels_of(x))}, DType::f32);
}

/// Calls `host.operator()<T>(twin)` for the CPU twins or `on_device.operator()<T>(stream)`.
template <class Host, class Cuda>
void for_twins(Context& ctx, const Tensor& x, Host&& host, Cuda&& on_device) {
  const Twin twin = choose(ctx, x.dtype());
  if (twin == Twin::cuda) {
    if constexpr (kHaveCuda)
      for_cuda_floating(kOp, x.dtype(), [&]<class T>() {
        on_device.template operator()<T>(ctx.cuda().compute());
      });
    return;
  }
  for_floating(kOp, x.dtype(), [&]<class T>() { host.template operator()<T>(twin); });
}

template <class T>
[[nodiscard]] T* optional_data(Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}
template <class T>
[[nodiscard]] const T* optional_data(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

// The arguments of the CPU twins and of the CUDA twin, whose structs have the same members but for
// the workspace.

template <template <class> class Args, class T>
[[nodiscard]] Args<T> statistics_args(const Tensor& x,
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

template <template <class> class Args, class T>
[[nodiscard]] Args<T> apply_args(const BatchNormOperands& in,
                                 const BatchNormStatistics& statistics,
                                 const BatchNormOptions& options,
                                 Tensor& y) {
  using Wide = WideType<T>;
  return {.rows = rows_of(in.x),
          .channels = channels_of(in.x),
          .activation = options.activation,
          .residual_before_activation = options.residual_before_activation,
          .x = in.x.data<T>(),
          .residual = optional_data<T>(in.residual),
          .weight = in.weight.data<Wide>(),
          .bias = in.bias.data<Wide>(),
          .mean = statistics.mean.data<Wide>(),
          .rstd = statistics.rstd.data<Wide>(),
          .y = y.data<T>()};
}

template <template <class> class Args, class T>
[[nodiscard]] Args<T> backward_args(BatchNormPass pass,
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
          .residual = optional_data<T>(in.residual),
          .dy = dy.data<T>(),
          .weight = in.weight.data<Wide>(),
          .bias = in.bias.data<Wide>(),
          .mean = statistics.mean.data<Wide>(),
          .rstd = statistics.rstd.data<Wide>(),
          .dx = optional_data<T>(out.x.tensor),
          .dresidual = optional_data<T>(out.residual.tensor),
          .dweight = optional_data<Wide>(out.weight.tensor),
          .dbias = optional_data<Wide>(out.bias.tensor),
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
  const auto host = [&]<class T>(Twin twin) {
    const auto args = apply_args<cpu::BatchNormApplyArgs, T>(in, statistics, options, y);
    if constexpr (!std::same_as<T, double>) {
      if (twin == Twin::fast) {
        Tensor workspace = workspace_for(ctx, in.x);
        return cpu::batch_norm_apply(ctx.threads(), args, workspace.data<float>());
      }
    }
    cpu::reference::batch_norm_apply(args);
  };
  const auto on_device = [&]<class T>(cuda::Stream stream) {
    cuda::batch_norm_apply(stream,
                           apply_args<cuda::BatchNormApplyArgs, T>(in, statistics, options, y));
  };
  for_twins(ctx, in.x, host, on_device);
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
  check<Error>(rows_of(in.x) > 1,
               "batch_norm: training needs more than one value per channel, x is {}: use a larger "
               "batch or eval mode",
               in.x.shape());
  const auto host = [&]<class T>(Twin twin) {
    const auto args = statistics_args<cpu::BatchNormStatisticsArgs, T>(
        in.x, options, running_mean, running_var, statistics);
    if constexpr (!std::same_as<T, double>) {
      if (twin == Twin::fast) {
        Tensor workspace = workspace_for(ctx, in.x);
        return cpu::batch_norm_statistics(ctx.threads(), args, workspace.data<float>());
      }
    }
    cpu::reference::batch_norm_statistics(args);
  };
  const auto on_device = [&]<class T>(cuda::Stream stream) {
    Tensor workspace =
        ctx.empty({cuda::batch_norm_workspace(rows_of(in.x), channels_of(in.x))}, DType::f32);
    auto args = statistics_args<cuda::BatchNormStatisticsArgs, T>(
        in.x, options, running_mean, running_var, statistics);
    args.workspace = workspace.data<float>();
    cuda::batch_norm_statistics(stream, args);
  };
  for_twins(ctx, in.x, host, on_device);
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
  const auto host = [&]<class T>(Twin) {
    using Wide = WideType<T>;
    for (std::int64_t c = 0; c < channels_of(in.x); ++c) {
      statistics.mean.data<Wide>()[c] = running_mean.data<Wide>()[c];
      statistics.rstd.data<Wide>()[c] = static_cast<Wide>(
          1 / std::sqrt(as_double(running_var.data<Wide>()[c]) + static_cast<double>(options.eps)));
    }
  };
  const auto on_device = [&]<class T>(cuda::Stream stream) {
    cuda::batch_norm_running_statistics(stream,
                                        running_mean.data<float>(),
                                        running_var.data<float>(),
                                        options.eps,
                                        statistics.mean.data<float>(),
                                        statistics.rstd.data<float>(),
                                        channels_of(in.x));
  };
  for_twins(ctx, in.x, host, on_device);
  apply(ctx, in, statistics, options, y);
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
    check(in.residual.defined(), "batch_norm: a gradient of the residual, but there is none");
    check_like(in.x, "the residual's gradient", out.residual.tensor);
  }
  if (out.weight.tensor.defined()) check_channels(in.x, "dweight", out.weight.tensor);
  if (out.bias.tensor.defined()) check_channels(in.x, "dbias", out.bias.tensor);
  const auto host = [&]<class T>(Twin twin) {
    const auto args =
        backward_args<cpu::BatchNormBackwardArgs, T>(pass, in, statistics, options, dy, out);
    if constexpr (!std::same_as<T, double>) {
      if (twin == Twin::fast) {
        Tensor workspace = workspace_for(ctx, in.x);
        return cpu::batch_norm_backward(ctx.threads(), args, workspace.data<float>());
      }
    }
    cpu::reference::batch_norm_backward(args);
  };
  const auto on_device = [&]<class T>(cuda::Stream stream) {
    Tensor workspace =
        ctx.empty({cuda::batch_norm_workspace(rows_of(in.x), channels_of(in.x))}, DType::f32);
    auto args =
        backward_args<cuda::BatchNormBackwardArgs, T>(pass, in, statistics, options, dy, out);
    args.workspace = workspace.data<float>();
    cuda::batch_norm_backward(stream, args);
  };
  for_twins(ctx, in.x, host, on_device);
}

}  // namespace learn::kernels
