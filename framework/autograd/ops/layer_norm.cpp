#include "framework/kernels/norm/layer_norm.h"

#include "framework/autograd/autocast.h"
#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"

#include <utility>
#include <vector>

namespace learn::ops {
namespace {

struct LayerNormNode final : Node {
  kernels::LayerNormOperands in;
  kernels::LayerNormOptions options;
  kernels::LayerNormStatistics statistics;
  LayerNormNode(kernels::LayerNormOperands operands,
                const kernels::LayerNormOptions& given,
                kernels::LayerNormStatistics used)
      : in(std::move(operands)), options(given), statistics(std::move(used)) {}
  std::string_view name() const override { return options.centered ? "layer_norm" : "rms_norm"; }
  void backward(Tape& tape, const Tensor& dy) override {
    // One call writes all gradients, so all destinations are created first.
    const auto destination = [&](std::size_t i) {
      kernels::LayerNormGradient gradient;
      tape.accumulate(input(i), [&](Tensor& tensor, GradMode mode) { gradient = {tensor, mode}; });
      return gradient;
    };
    kernels::LayerNormGradients out{destination(0), destination(1), {}};
    if (options.centered) out.bias = destination(2);
    kernels::layer_norm_backward(tape.context(), in, options, statistics, dy, out);
  }
  OpAttributes attributes() const override { return LayerNormAttributes{options.eps}; }
};

/// The operands are x, weight and, if rows are centered, bias.
Var normalized(const std::vector<Var>& operands, const kernels::LayerNormOptions& options) {
  const Var& x = operands[0];
  Tape& tape = x.tape();
  check(x.shape().rank() >= 1 && x.shape()[-1] > 0,
        "{}: x must be (...,C) with at least one value per row, not {}",
        options.centered ? "layer_norm" : "rms_norm",
        x.shape());
  const Shape rows{x.shape().elements() / x.shape()[-1]};
  Tensor y = tape.empty(x.shape(), x.dtype());
  kernels::LayerNormStatistics statistics{tape.empty(rows, wide_dtype(x.dtype())),
                                          tape.empty(rows, wide_dtype(x.dtype()))};
  kernels::LayerNormOperands in{x.value(), operands[1].value(), {}};
  if (options.centered) in.bias = operands[2].value();
  kernels::layer_norm_forward(tape.context(), in, options, y, statistics);
  return tape.record(operands, y, LayerNormNode(std::move(in), options, std::move(statistics)));
}

}  // namespace

Var layer_norm(const Var& x, const Var& weight, const Var& bias, float eps) {
  if (const auto cast = autocast(cast_class("layer_norm"), x))
    return layer_norm((*cast)[0], weight, bias, eps);
  return normalized({x, weight, bias}, {.eps = eps});
}

Var rms_norm(const Var& x, const Var& weight, float eps) {
  if (const auto cast = autocast(cast_class("rms_norm"), x))
    return rms_norm((*cast)[0], weight, eps);
  return normalized({x, weight}, {.eps = eps, .centered = false});
}

}  // namespace learn::ops
