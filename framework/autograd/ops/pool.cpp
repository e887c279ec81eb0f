#include "framework/kernels/pool/pool.h"

#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"

#include <utility>

namespace learn::ops {
namespace {

struct MaxPoolNode final : Node {
  Tensor winner;
  Pool2dOptions options;
  MaxPoolNode(Tensor w, const Pool2dOptions& o) : winner(std::move(w)), options(o) {}
  std::string_view name() const override { return "max_pool2d"; }
  void backward(Tape& tape, const Tensor& dy) override {
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      kernels::max_pool2d_backward(tape.context(), options, winner, dy, dx, mode);
    });
  }
  OpAttributes attributes() const override { return options; }
};

struct AvgPoolNode final : Node {
  Pool2dOptions options;
  explicit AvgPoolNode(const Pool2dOptions& o) : options(o) {}
  std::string_view name() const override { return "avg_pool2d"; }
  void backward(Tape& tape, const Tensor& dy) override {
    tape.accumulate(input(0), [&](Tensor& dx, GradMode mode) {
      kernels::avg_pool2d_backward(tape.context(), options, dy, dx, mode);
    });
  }
  OpAttributes attributes() const override { return options; }
};

}  // namespace

Var max_pool2d(const Var& x, const Pool2dOptions& options) {
  Tape& tape = x.tape();
  const Shape shape = kernels::pooled_shape(x.shape(), options);
  Tensor y = tape.empty(shape, x.dtype());
  Tensor winner = tape.empty(shape, kernels::winner_dtype(options));
  kernels::max_pool2d_forward(tape.context(), options, x.value(), y, winner);
  return tape.record({x}, y, MaxPoolNode(winner, options));
}

Var avg_pool2d(const Var& x, const Pool2dOptions& options) {
  Tape& tape = x.tape();
  Tensor y = tape.empty(kernels::pooled_shape(x.shape(), options), x.dtype());
  kernels::avg_pool2d_forward(tape.context(), options, x.value(), y);
  return tape.record({x}, y, AvgPoolNode(options));
}

Var global_avg_pool(const Var& x) { return avg_pool2d(x, kernels::global_window(x.shape())); }
Var global_max_pool(const Var& x) { return max_pool2d(x, kernels::global_window(x.shape())); }

}  // namespace learn::ops
