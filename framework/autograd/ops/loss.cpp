#include "framework/autograd/autocast.h"
#include "framework/autograd/ops.h"
#include "framework/kernels/loss/mse.h"
#include "framework/kernels/loss/softmax_cross_entropy.h"
#include "framework/tensor/convert.h"

#include <utility>

namespace learn::ops {
namespace {

struct SoftmaxCrossEntropyNode final : Node {
  Tensor gradient;
  explicit SoftmaxCrossEntropyNode(Tensor g) : gradient(std::move(g)) {}
  std::string_view name() const override { return "softmax_cross_entropy"; }
  void backward(Tape& tape, const Tensor& dloss) override {
    tape.accumulate(input(0), [&](Tensor& dlogits, GradMode mode) {
      kernels::softmax_cross_entropy_backward(tape.context(), gradient, dloss, dlogits, mode);
    });
  }
};

struct MseNode final : Node {
  Tensor pred, target;
  MseNode(Tensor p, Tensor t) : pred(std::move(p)), target(std::move(t)) {}
  std::string_view name() const override { return "mse"; }
  void backward(Tape& tape, const Tensor& dloss) override {
    tape.accumulate(input(0), [&](Tensor& dpred, GradMode mode) {
      kernels::mse_backward(tape.context(), pred, target, dloss, dpred, mode);
    });
  }
};

}  // namespace

Var softmax_cross_entropy(const Var& logits, const Tensor& target, float label_smoothing) {
  if (const auto cast = autocast(cast_class("softmax_cross_entropy"), logits))
    return softmax_cross_entropy((*cast)[0], target, label_smoothing);
  Tape& tape = logits.tape();
  const DType dtype = wide_dtype(logits.dtype());
  Tensor loss = tape.empty({}, dtype);
  Tensor gradient;
  if (logits.needs_grad()) gradient = tape.empty(logits.shape(), dtype);
  kernels::softmax_cross_entropy(
      tape.context(), logits.value(), target, label_smoothing, loss, gradient);
  return tape.record({logits}, loss, SoftmaxCrossEntropyNode(gradient));
}

Var mse(const Var& pred, const Tensor& target) {
  Tape& tape = pred.tape();
  if (const auto cast = autocast(cast_class("mse"), pred, tape.input(target)))
    return mse((*cast)[0], (*cast)[1].value());
  Tensor loss = tape.empty({}, wide_dtype(pred.dtype()));
  kernels::mse_forward(tape.context(), pred.value(), target, loss);
  return tape.record({pred}, loss, MseNode(pred.value(), target));
}

}  // namespace learn::ops
