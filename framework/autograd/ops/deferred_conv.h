#pragma once
#include "framework/autograd/tape.h"
#include "framework/kernels/conv/conv.h"

#include <utility>

namespace learn::ops {

/// A convolution that a batch normalization may fuse.
class DeferredConv2d final : public Deferred {
 public:
  DeferredConv2d(Context& ctx, Tensor x, Tensor w, Tensor bias, const Conv2dOptions& options)
      : ctx_(ctx),
        x_(std::move(x)),
        w_(std::move(w)),
        bias_(std::move(bias)),
        options_(options),
        shape_(shape_of(kernels::conv2d_geometry(x_.shape(), w_.shape(), options))) {}

  [[nodiscard]] const Tensor& x() const { return x_; }
  [[nodiscard]] const Tensor& weight() const { return w_; }
  [[nodiscard]] const Tensor& bias() const { return bias_; }
  [[nodiscard]] const Conv2dOptions& options() const { return options_; }

  [[nodiscard]] const Shape& shape() const override { return shape_; }
  [[nodiscard]] DType dtype() const override { return x_.dtype(); }
  [[nodiscard]] Tensor compute() const override {
    Tensor y = ctx_.empty(shape_, x_.dtype());
    kernels::conv2d_forward(ctx_, x_, w_, bias_, y, options_);
    return y;
  }

 private:
  static Shape shape_of(const ConvGeometry& g) { return {g.n, g.p, g.q, g.k}; }

  Context& ctx_;
  Tensor x_, w_, bias_;
  Conv2dOptions options_;
  Shape shape_;
};

}  // namespace learn::ops
