#include "framework/kernels/norm/weight_norm.h"

#include "framework/kernels/norm/weight_norm_kernels.h"
#include "framework/kernels/norm/weight_norm_reference.h"
#include "framework/runtime/dispatch.h"

namespace learn::kernels {
namespace {

constexpr std::string_view kOp = "weight_norm";

void check_like(const Tensor& v, std::string_view what, const Tensor& other) {
  check(other.shape() == v.shape(),
        "weight_norm: {} has shape {}, v has {}",
        what,
        other.shape(),
        v.shape());
  check<DTypeError>(
      other.dtype() == v.dtype(), "weight_norm: {} is {}, v is {}", what, other.dtype(), v.dtype());
}

void check_rows(const Tensor& v, std::string_view what, const Tensor& vector) {
  const Shape& shape = vector.shape();
  check(shape.rank() > 0 && shape[0] == v.shape()[0] && shape.elements() == shape[0],
        "weight_norm: {} has shape {}, v {} has {} rows",
        what,
        vector.shape(),
        v.shape(),
        v.shape()[0]);
  check<DTypeError>(vector.dtype() == wide_dtype(v.dtype()),
                    "weight_norm: {} must be {} for {} v, not {}",
                    what,
                    wide_dtype(v.dtype()),
                    v.dtype(),
                    vector.dtype());
}

void check_operands(const Context& ctx, const WeightNormOperands& in) {
  check(in.v.shape().rank() >= 2 && in.v.elements() > 0,
        "weight_norm: v must be (K,...) with at least one element, not {}",
        in.v.shape());
  check_device(ctx, kOp, in.v);
  check_device(ctx, kOp, in.g);
  check_rows(in.v, "g", in.g);
}

[[nodiscard]] std::int64_t rows_of(const Tensor& v) { return v.shape()[0]; }
[[nodiscard]] std::int64_t columns_of(const Tensor& v) { return v.elements() / rows_of(v); }

}  // namespace

void weight_norm_forward(Context& ctx, const WeightNormOperands& in, Tensor& w, Tensor& norms) {
  check_operands(ctx, in);
  check_like(in.v, "w", w);
  check_rows(in.v, "norms", norms);
  dispatch(ctx, kOp, in.v.dtype(), [&]<class T>(const auto& exec) {
    weight_norm_forward(exec,
                        WeightNormArgs<T>{.rows = rows_of(in.v),
                                          .columns = columns_of(in.v),
                                          .v = in.v.data<T>(),
                                          .g = in.g.data<WideType<T>>(),
                                          .w = w.data<T>(),
                                          .norms = norms.data<WideType<T>>()});
  });
}

void weight_norm_backward(Context& ctx,
                          const WeightNormOperands& in,
                          const Tensor& norms,
                          const Tensor& dw,
                          WeightNormGradients& out) {
  check_operands(ctx, in);
  check_like(in.v, "dw", dw);
  check_rows(in.v, "norms", norms);
  if (out.v.tensor.defined()) check_like(in.v, "dv", out.v.tensor);
  if (out.g.tensor.defined()) check_rows(in.v, "dg", out.g.tensor);
  dispatch(ctx, kOp, in.v.dtype(), [&]<class T>(const auto& exec) {
    using Wide = WideType<T>;
    weight_norm_backward(exec,
                         WeightNormBackwardArgs<T>{.rows = rows_of(in.v),
                                                   .columns = columns_of(in.v),
                                                   .v = in.v.data<T>(),
                                                   .dw = dw.data<T>(),
                                                   .g = in.g.data<Wide>(),
                                                   .norms = norms.data<Wide>(),
                                                   .dv = data_or_null<T>(out.v.tensor),
                                                   .dg = data_or_null<Wide>(out.g.tensor),
                                                   .dv_mode = out.v.mode,
                                                   .dg_mode = out.g.mode});
  });
}

}  // namespace learn::kernels
