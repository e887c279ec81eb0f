#include "framework/kernels/conv/conv_affine.h"

#include "framework/core/error.h"
#include "framework/kernels/common/cpu/activation_functions.h"
#include "framework/kernels/conv/cpu/conv.h"
#include "framework/runtime/dispatch.h"

namespace learn::kernels {
namespace {

void check_like(Context& ctx, std::string_view what, const Tensor& tensor, const Shape& wanted) {
  check_device(ctx, "conv2d", tensor);
  check(tensor.shape() == wanted && tensor.dtype() == DType::f32,
        "conv2d: {} must have shape {} in f32, it has {} in {}",
        what,
        wanted,
        tensor.shape(),
        tensor.dtype());
}

}  // namespace

bool can_fuse_affine(const Context& ctx, DType dtype, const ActivationKind& activation) {
  return ctx.device().is_cpu() && !ctx.reference() && dtype == DType::f32 && is_brief(activation);
}

void conv2d_affine(Context& ctx,
                   const Tensor& x,
                   const Tensor& w,
                   const Tensor& bias,
                   const Conv2dOptions& options,
                   const ConvAffine& then,
                   Tensor& y) {
  check<UsageError>(can_fuse_affine(ctx, x.dtype(), then.activation),
                    "conv2d: scaling the output in {} on {} is not supported",
                    x.dtype(),
                    ctx.device());
  const ConvGeometry g = conv2d_geometry(x.shape(), w.shape(), options);
  check_conv2d(ctx, x, w, bias);
  check_like(ctx, "the output", y, {g.n, g.p, g.q, g.k});
  check_like(ctx, "the scale", then.scale, {g.k});
  check_like(ctx, "the shift", then.shift, {g.k});
  if (then.residual.defined()) check_like(ctx, "the residual", then.residual, y.shape());
  cpu::conv2d_forward({ctx.threads(), ctx.step(), ctx.winograd(), ctx.prepared_weights()},
                      g,
                      x.data<float>(),
                      w.data<float>(),
                      data_or_null<float>(bias),
                      y.data<float>(),
                      {.scale = then.scale.data<float>(),
                       .shift = then.shift.data<float>(),
                       .y = y.data<float>(),
                       .residual = data_or_null<float>(then.residual),
                       .activation = then.activation,
                       .residual_before_activation = then.residual_before_activation});
}

}  // namespace learn::kernels
