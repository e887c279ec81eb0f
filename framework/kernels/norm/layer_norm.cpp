#include "framework/kernels/norm/layer_norm.h"

#include "framework/kernels/norm/layer_norm_kernels.h"
#include "framework/kernels/norm/layer_norm_reference.h"
#include "framework/runtime/dispatch.h"

namespace learn::kernels {
namespace {

constexpr std::string_view kOp = "layer_norm";

void check_like(const Tensor& x, std::string_view what, const Tensor& other) {
  check(other.shape() == x.shape(),
        "layer_norm: {} has shape {}, x has {}",
        what,
        other.shape(),
        x.shape());
  check<DTypeError>(
      other.dtype() == x.dtype(), "layer_norm: {} is {}, x is {}", what, other.dtype(), x.dtype());
}

[[nodiscard]] std::int64_t columns_of(const Tensor& x) { return x.shape()[-1]; }
[[nodiscard]] std::int64_t rows_of(const Tensor& x) { return x.elements() / columns_of(x); }

void check_wide(const Tensor& x, std::string_view what, const Tensor& vector, std::int64_t n) {
  check(vector.shape() == Shape{n},
        "layer_norm: {} must be ({}) for x {}, not {}",
        what,
        n,
        x.shape(),
        vector.shape());
  check<DTypeError>(vector.dtype() == wide_dtype(x.dtype()),
                    "layer_norm: {} must be {} for {} x, not {}",
                    what,
                    wide_dtype(x.dtype()),
                    x.dtype(),
                    vector.dtype());
}

void check_operands(const Context& ctx,
                    const LayerNormOperands& in,
                    const LayerNormOptions& options,
                    const LayerNormStatistics& statistics) {
  check(in.x.shape().rank() >= 1 && in.x.shape()[-1] > 0,
        "layer_norm: x must be (...,C) with at least one value per row, not {}",
        in.x.shape());
  for (const Tensor* tensor : {&in.x, &in.weight}) check_device(ctx, kOp, *tensor);
  check_wide(in.x, "weight", in.weight, columns_of(in.x));
  check(in.bias.defined() == options.centered,
        "layer_norm: a bias is for centered rows, and needed there");
  if (in.bias.defined()) {
    check_device(ctx, kOp, in.bias);
    check_wide(in.x, "bias", in.bias, columns_of(in.x));
  }
  check_wide(in.x, "mean", statistics.mean, rows_of(in.x));
  check_wide(in.x, "rstd", statistics.rstd, rows_of(in.x));
}

}  // namespace

void layer_norm_forward(Context& ctx,
                        const LayerNormOperands& in,
                        const LayerNormOptions& options,
                        Tensor& y,
                        LayerNormStatistics& statistics) {
  check_operands(ctx, in, options, statistics);
  check_like(in.x, "y", y);
  dispatch(ctx, kOp, in.x.dtype(), [&]<class T>(const auto& exec) {
    using Wide = WideType<T>;
    layer_norm_forward(exec,
                       LayerNormArgs<T>{.rows = rows_of(in.x),
                                        .columns = columns_of(in.x),
                                        .eps = options.eps,
                                        .centered = options.centered,
                                        .x = in.x.data<T>(),
                                        .weight = in.weight.data<Wide>(),
                                        .bias = data_or_null<Wide>(in.bias),
                                        .y = y.data<T>(),
                                        .mean = statistics.mean.data<Wide>(),
                                        .rstd = statistics.rstd.data<Wide>()});
  });
}

void layer_norm_backward(Context& ctx,
                         const LayerNormOperands& in,
                         const LayerNormOptions& options,
                         const LayerNormStatistics& statistics,
                         const Tensor& dy,
                         LayerNormGradients& out) {
  check_operands(ctx, in, options, statistics);
  check_like(in.x, "dy", dy);
  if (out.x.tensor.defined()) check_like(in.x, "dx", out.x.tensor);
  if (out.weight.tensor.defined()) check_wide(in.x, "dweight", out.weight.tensor, columns_of(in.x));
  if (out.bias.tensor.defined()) check_wide(in.x, "dbias", out.bias.tensor, columns_of(in.x));
  dispatch(ctx, kOp, in.x.dtype(), [&]<class T>(const auto& exec) {
    using Wide = WideType<T>;
    layer_norm_backward(exec,
                        LayerNormBackwardArgs<T>{.rows = rows_of(in.x),
                                                 .columns = columns_of(in.x),
                                                 .centered = options.centered,
                                                 .x = in.x.data<T>(),
                                                 .dy = dy.data<T>(),
                                                 .weight = in.weight.data<Wide>(),
                                                 .mean = statistics.mean.data<Wide>(),
                                                 .rstd = statistics.rstd.data<Wide>(),
                                                 .dx = data_or_null<T>(out.x.tensor),
                                                 .dweight = data_or_null<Wide>(out.weight.tensor),
                                                 .dbias = data_or_null<Wide>(out.bias.tensor),
                                                 .dx_mode = out.x.mode,
                                                 .dweight_mode = out.weight.mode,
                                                 .dbias_mode = out.bias.mode});
  });
}

}  // namespace learn::kernels
