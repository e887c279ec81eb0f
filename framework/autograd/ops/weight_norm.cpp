#include "framework/kernels/norm/weight_norm.h"

#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"

#include <utility>

namespace learn::ops {
namespace {

struct WeightNormNode final : Node {
  kernels::WeightNormOperands in;
  Tensor norms;
  WeightNormNode(kernels::WeightNormOperands operands, Tensor lengths)
      : in(std::move(operands)), norms(std::move(lengths)) {}
  std::string_view name() const override { return "weight_norm"; }
  void backward(Tape& tape, const Tensor& dw) override {
    // One kernel writes both gradients, so both destinations are created first.
    const auto destination = [&](std::size_t i) {
      kernels::WeightNormGradient gradient;
      tape.accumulate(input(i), [&](Tensor& tensor, GradMode mode) { gradient = {tensor, mode}; });
      return gradient;
    };
    kernels::WeightNormGradients out{destination(0), destination(1)};
    kernels::weight_norm_backward(tape.context(), in, norms, dw, out);
  }
};

}  // namespace

Var weight_norm(const Var& v, const Var& g) {
  Tape& tape = v.tape();
  Tensor w = tape.empty(v.shape(), v.dtype());
  Tensor norms = tape.empty(g.shape(), g.dtype());
  kernels::WeightNormOperands in{v.value(), g.value()};
  kernels::weight_norm_forward(tape.context(), in, w, norms);
  return tape.record({v, g}, w, WeightNormNode(std::move(in), std::move(norms)));
}

}  // namespace learn::ops
