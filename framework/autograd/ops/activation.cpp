#include "framework/kernels/activation/activation.h"

#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"

#include <utility>

namespace learn::ops {
namespace {

struct ActivationNode final : Node {
  Tensor x;
  ActivationKind kind;
  ActivationNode(Tensor x_in, const ActivationKind& k) : x(std::move(x_in)), kind(k) {}
  std::string_view name() const override { return name_of(kind); }
  void backward(Tape& tape, const Tensor& dy) override {
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      kernels::activation_backward(tape.context(), kind, x, dy, dx, mode);
    });
  }
  OpAttributes attributes() const override { return kind; }
};

}  // namespace

Var activation(const Var& x, const ActivationKind& kind) {
  if (kind.name == ActivationKind::Name::identity) return x;
  Tape& tape = x.tape();
  Tensor y = tape.empty(x.shape(), x.dtype());
  kernels::activation_forward(tape.context(), kind, x.value(), y);
  return tape.record({x}, y, ActivationNode(x.value(), kind));
}

}  // namespace learn::ops
