#include "framework/kernels/conv/conv_batch_norm.h"

#include "framework/core/error.h"
#include "framework/kernels/common/cpu/activation_functions.h"
#include "framework/kernels/common/cpu/task_buffers.h"
#include "framework/kernels/conv/cpu/conv.h"
#include "framework/kernels/norm/batch_norm_kernels.h"
#include "framework/kernels/norm/batch_norm_lanes_cpu.h"
#include "framework/runtime/dispatch.h"

namespace learn::kernels {
namespace {

struct Affine {
  const float *weight, *bias, *mean, *rstd;
};

}  // namespace

bool can_fuse_batch_norm(const Context& ctx, DType dtype, const BatchNormOptions& options) {
  return ctx.device().is_cpu() && !ctx.reference() && dtype == DType::f32 &&
         !cpu::is_smooth(options.activation);
}

void conv2d_batch_norm(Context& ctx,
                       const Tensor& x,
                       const Tensor& w,
                       const Tensor& bias,
                       const Conv2dOptions& options,
                       const BatchNormOperands& norm,
                       const Tensor& running_mean,
                       const Tensor& running_var,
                       const BatchNormOptions& norm_options,
                       Tensor& y) {
  check<UsageError>(can_fuse_batch_norm(ctx, x.dtype(), norm_options),
                    "conv2d and batch_norm of {} on {} cannot be one pass",
                    x.dtype(),
                    ctx.device());
  const ConvGeometry g = conv2d_geometry(x.shape(), w.shape(), options);
  check_conv2d(ctx, x, w, bias);
  const Shape channels{g.k};
  for (const Tensor* const vector : {&norm.weight, &norm.bias, &running_mean, &running_var}) {
    check_device(ctx, "batch_norm", *vector);
    check(vector->shape() == channels && vector->dtype() == DType::f32,
          "batch_norm: a vector of {} channels in f32 is needed, not {} of {}",
          g.k,
          vector->shape(),
          vector->dtype());
  }
  for (const Tensor* const like : {static_cast<const Tensor*>(&y), &norm.residual})
    if (like->defined())
      check(like->shape() == Shape{g.n, g.p, g.q, g.k} && like->dtype() == DType::f32,
            "conv2d: an output or residual must be ({},{},{},{}) in f32, not {} of {}",
            g.n,
            g.p,
            g.q,
            g.k,
            like->shape(),
            like->dtype());

  const cpu::Exec exec{ctx.threads(), ctx.step(), ctx.winograd(), ctx.prepared_weights()};
  const cpu::ChannelFolding folding(1, g.k);
  const cpu::FloatWorkspace memory(exec.workspace, 4 * folding.width);
  float* const mean = memory.data();
  float* const rstd = mean + folding.width;
  float* const scale = rstd + folding.width;
  float* const shift = scale + folding.width;
  cpu::batch_norm_running_statistics(exec,
                                     running_mean.span<float>().data(),
                                     running_var.span<float>().data(),
                                     norm_options.eps,
                                     mean,
                                     rstd,
                                     g.k);
  cpu::batch_norm_affine(Affine{norm.weight.data<float>(), norm.bias.data<float>(), mean, rstd},
                         folding,
                         scale,
                         shift);
  cpu::conv2d_forward(exec,
                      g,
                      x.data<float>(),
                      w.data<float>(),
                      data_or_null<float>(bias),
                      y.data<float>(),
                      {.scale = scale,
                       .shift = shift,
                       .y = y.data<float>(),
                       .residual = data_or_null<float>(norm.residual),
                       .activation = norm_options.activation,
                       .residual_before_activation = norm_options.residual_before_activation});
}

}  // namespace learn::kernels
