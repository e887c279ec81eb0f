#include "framework/nn/layers/conv2d.h"

#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/kernels/conv/conv.h"

#include <fmt/core.h>

namespace learn::nn {
namespace {

Conv2dOptions geometry_of(const ConvOptions& options) {
  return Conv2dOptions::symmetric(
      options.stride, options.pad.value_or(options.kernel / 2), options.groups);
}

void check_options(const std::string& path,
                   std::int64_t in,
                   std::int64_t out,
                   std::int64_t kernel_h,
                   std::int64_t kernel_w,
                   const Conv2dOptions& g) {
  check<UsageError>(
      in >= 1 && out >= 1 && kernel_h >= 1 && kernel_w >= 1 && g.stride_h >= 1 && g.stride_w >= 1,
      "Conv2d '{}': channels {} -> {}, kernel {}x{} and stride {}x{} must be at least 1",
      path,
      in,
      out,
      kernel_h,
      kernel_w,
      g.stride_h,
      g.stride_w);
  check<UsageError>(g.groups >= 1 && in % g.groups == 0 && out % g.groups == 0,
                    "Conv2d '{}': {} groups do not divide {} input and {} output channels",
                    path,
                    g.groups,
                    in,
                    out);
}

}  // namespace

Conv2d::Conv2d(const Scope& scope, std::int64_t in, std::int64_t out, const ConvOptions& options)
    : Conv2d(scope,
             in,
             out,
             options.kernel,
             options.kernel,
             geometry_of(options),
             options.bias,
             options.init,
             options.weight_norm) {}

Conv2d::Conv2d(const Scope& scope,
               std::int64_t in,
               std::int64_t out,
               std::int64_t kernel_h,
               std::int64_t kernel_w,
               const Conv2dOptions& geometry,
               bool bias,
               const Init& init,
               bool weight_norm)
    : Module(scope),
      in_(in),
      out_(out),
      kernel_h_(kernel_h),
      kernel_w_(kernel_w),
      geometry_(geometry) {
  check_options(path(), in, out, kernel_h, kernel_w, geometry);
  const Shape shape{out, kernel_h, kernel_w, in / geometry.groups};
  weight_ = Weight(scope, shape, init, weight_norm);
  if (bias)
    bias_ = scope.param("bias", {out}, ParamRole::bias, init::default_bias(init::fan_of(shape).in));
}

Var Conv2d::forward(const Var& x) {
  check(x.shape().rank() == 4 && x.shape()[3] - x.padding() == in_,
        "Conv2d '{}' expects images (N,H,W,{}), got {}{}",
        path(),
        in_,
        x.shape(),
        x.padding() == 0 ? "" : fmt::format(", of which {} channels are padding", x.padding()));
  Tape& tape = x.tape();
  return ops::conv2d(x, weight_.on(tape), bias_ != nullptr ? tape.param(*bias_) : Var(), geometry_);
}

ConvGeometry Conv2d::geometry(const Shape& x) const {
  return kernels::conv2d_geometry(
      x, {out_, kernel_h_, kernel_w_, in_ / geometry_.groups}, geometry_);
}

std::string Conv2d::describe() const {
  const Conv2dOptions& g = geometry_;
  std::string text = fmt::format("Conv2d({} -> {}, {}x{}", in_, out_, kernel_h_, kernel_w_);
  if (g.stride_h != g.stride_w)
    text += fmt::format(", stride {}x{}", g.stride_h, g.stride_w);
  else if (g.stride_h != 1)
    text += fmt::format(", stride {}", g.stride_h);
  const bool even =
      g.pad_top == g.pad_bottom && g.pad_top == g.pad_left && g.pad_top == g.pad_right;
  if (!even)
    text += fmt::format(", pad top {} bottom {} left {} right {}",
                        g.pad_top,
                        g.pad_bottom,
                        g.pad_left,
                        g.pad_right);
  else if (g.pad_top != 0)
    text += fmt::format(", pad {}", g.pad_top);
  if (g.groups != 1) text += fmt::format(", groups {}", g.groups);
  return text + weight_.note() + (bias_ != nullptr ? ")" : ", no bias)");
}

}  // namespace learn::nn
