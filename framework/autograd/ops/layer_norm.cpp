#include "framework/kernels/norm/layer_norm.h"

#include "framework/autograd/autocast.h"
#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"

#include <utility>

namespace learn::ops {
namespace {

struct LayerNormNode final : Node {
  kernels::LayerNormOperands in;
  kernels::LayerNormStatistics statistics;
  float eps;
  LayerNormNode(kernels::LayerNormOperands operands,
                kernels::LayerNormStatistics used,
                float epsilon)
      : in(std::move(operands)), statistics(std::move(used)), eps(epsilon) {}
  std::string_view name() const override { return "layer_norm"; }
  void backward(Tape& tape, const Tensor& dy) override {
    // One call writes all gradients, so all destinations are created first.
    const auto destination = [&](std::size_t i) {
      kernels::LayerNormGradient gradient;
      tape.accumulate(input(i), [&](Tensor& tensor, GradMode mode) { gradient = {tensor, mode}; });
      return gradient;
    };
    kernels::LayerNormGradients out{destination(0), destination(1), destination(2)};
    kernels::layer_norm_backward(tape.context(), in, statistics, dy, out);
  }
  OpAttributes attributes() const override { return LayerNormAttributes{eps}; }
};

}  // namespace

Var layer_norm(const Var& x, const Var& weight, const Var& bias, float eps) {
  if (const auto cast = autocast(cast_class("layer_norm"), x))
    return layer_norm((*cast)[0], weight, bias, eps);
  Tape& tape = x.tape();
  check(x.shape().rank() >= 1 && x.shape()[-1] > 0,
        "layer_norm: x must be (...,C) with at least one value per row, not {}",
        x.shape());
  const Shape rows{x.shape().elements() / x.shape()[-1]};
  Tensor y = tape.empty(x.shape(), x.dtype());
  kernels::LayerNormStatistics statistics{tape.empty(rows, wide_dtype(x.dtype())),
                                          tape.empty(rows, wide_dtype(x.dtype()))};
  kernels::LayerNormOperands in{x.value(), weight.value(), bias.value()};
  kernels::layer_norm_forward(tape.context(), in, eps, y, statistics);
  return tape.record(
      {x, weight, bias}, y, LayerNormNode(std::move(in), std::move(statistics), eps));
}

}  // namespace learn::ops
