#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/kernels/loss/softmax_cross_entropy.h"
#include "framework/tensor/factory.h"
#include "tests/golden/norm_pool_loss.h"
#include "tests/support/compare.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

using namespace learn;
namespace golden = learn::test::golden;
using Values = std::vector<double>;

namespace {

/// One dtype's side of a comparison with PyTorch's float64.
struct Golden {
  DType dtype;
  Context ctx{{.threads = 2}};

  [[nodiscard]] Tensor tensor(const Shape& shape, const Values& values) {
    return from_values(ctx.step(), shape, values, dtype);
  }
  /// f64: the same operations in another order. f32: a handful of roundings of numbers up to 20.
  void compare(const std::string& what, const Tensor& got, const Values& expected) {
    const double allowed = dtype == DType::f64 ? 1e-13 : 4e-6;
    const Tensor want = from_values(ctx.step(), got.shape(), expected, DType::f64);
    const Comparison result = all_close(got, want, allowed, allowed);
    CHECK_MESSAGE(result.equal, (what + " in " + name_of(dtype) + ": " + result.text));
  }
};

/// sum(dy * y): has the gradient dy.
struct SeedNode final : Node {
  Tensor dy;
  explicit SeedNode(Tensor d) : dy(std::move(d)) {}
  std::string_view name() const override { return "seed"; }
  void backward(Tape& tape, const Tensor&) override {
    tape.accumulate(input(0), [&](Tensor& dx, GradMode) {
      for (std::int64_t i = 0; i < dx.elements(); ++i) set(dx, i, get(dy, i));
    });
  }
};

void backward_from(Tape& tape, const Var& y, const Tensor& dy) {
  Tensor loss = full(tape.context().step(), {}, y.dtype(), 0);
  tape.backward(tape.record({y}, loss, SeedNode(dy)));
}

void check_batch_norm(Golden g) {
  const Shape shape{2, 2, 3, 4};
  const Tensor x = g.tensor({3, 2, 2, 3, 4}, golden::kNormX);
  const Tensor dy = g.tensor(shape, golden::kNormDy);
  Tensor mean = g.tensor({4}, Values(4, 0));
  Tensor var = g.tensor({4}, Values(4, 1));
  Tape tape(g.ctx);
  const auto run = [&](std::int64_t batch, bool with_residual, const BatchNormOptions& options) {
    std::vector<Var> in{tape.input(x.rows(batch, 1).view(shape), true),
                        tape.input(g.tensor({4}, golden::kNormWeight), true),
                        tape.input(g.tensor({4}, golden::kNormBias), true),
                        tape.input(g.tensor(shape, golden::kNormResidual), true)};
    in.push_back(ops::batch_norm(
        in[0], in[1], in[2], mean, var, with_residual ? in[3] : Var{}, options, tape.mode()));
    return in;
  };
  const BatchNormOptions training{
      .momentum = 0.125F, .activation = ActivationKind::relu(), .residual_before_activation = true};
  for (std::int64_t batch = 0; batch < 2; ++batch) {
    (void)run(batch, true, training);
    tape.reset();
  }
  std::vector<Var> v = run(2, true, training);
  backward_from(tape, v[4], dy);
  g.compare("y", v[4].value(), golden::kNormY);
  g.compare("dx", tape.grad_of(v[0]), golden::kNormDx);
  g.compare("dweight", tape.grad_of(v[1]), golden::kNormDweight);
  g.compare("dbias", tape.grad_of(v[2]), golden::kNormDbias);
  g.compare("dresidual", tape.grad_of(v[3]), golden::kNormDresidual);
  g.compare("running mean", mean, golden::kNormRunningMean);
  g.compare("running var", var, golden::kNormRunningVar);
  tape.reset({.mode = ForwardMode::eval});
  v = run(0, false, {.activation = ActivationKind::leaky_relu(0.125F)});
  backward_from(tape, v[4], dy);
  g.compare("y, eval", v[4].value(), golden::kNormEvalY);
  g.compare("dx, eval", tape.grad_of(v[0]), golden::kNormEvalDx);
  g.compare("dweight, eval", tape.grad_of(v[1]), golden::kNormEvalDweight);
  g.compare("running mean, eval", mean, golden::kNormRunningMean);
}

using Pool = std::function<Var(const Var&)>;

void check_pool(Golden& g, const Pool& pool, const Values& y_values, const Values& dx_values) {
  Tape tape(g.ctx);
  const Var x = tape.input(g.tensor({1, 5, 6, 2}, golden::kPoolX), true);
  const Var y = pool(x);
  backward_from(tape, y, g.tensor({1, 3, 3, 2}, golden::kPoolDy));
  g.compare("y", y.value(), y_values);
  g.compare("dx", tape.grad_of(x), dx_values);
}

using Loss = std::function<Var(const Var&)>;

void check_loss(Golden& g, const Loss& loss, const Values& value, const Values& gradient) {
  Tape tape(g.ctx);
  const Var logits = tape.input(g.tensor({4, 5}, golden::kLossLogits), true);
  const Var out = loss(logits);
  tape.backward(out);
  g.compare("loss", out.value(), value);
  g.compare("gradient", tape.grad_of(logits), gradient);
}

}  // namespace

TEST_CASE("golden: batch norm, three training batches and an evaluation") {
  check_batch_norm({.dtype = DType::f64});
  check_batch_norm({.dtype = DType::f32});
}

TEST_CASE("golden: pools") {
  for (const DType dtype : {DType::f64, DType::f32}) {
    Golden g{.dtype = dtype};
    Pool2dOptions options = Pool2dOptions::square(3, 2, 1);
    check_pool(
        g,
        [&](const Var& x) { return ops::max_pool2d(x, options); },
        golden::kPoolMaxY,
        golden::kPoolMaxDx);
    const Pool average = [&](const Var& x) { return ops::avg_pool2d(x, options); };
    check_pool(g, average, golden::kPoolAvgPaddedY, golden::kPoolAvgPaddedDx);
    options.count_padding = false;
    check_pool(g, average, golden::kPoolAvgInsideY, golden::kPoolAvgInsideDx);
  }
}

TEST_CASE("golden: cross-entropy of classes and soft targets, smoothing, mse, softmax") {
  for (const DType dtype : {DType::f64, DType::f32}) {
    Golden g{.dtype = dtype};
    const Tensor labels = from_values(g.ctx.step(), {4}, golden::kLossLabels, DType::i64);
    const Tensor soft = g.tensor({4, 5}, golden::kLossSoft);
    const auto cross_entropy = [](const Tensor& target, float smoothing) -> Loss {
      return [=](const Var& x) { return ops::softmax_cross_entropy(x, target, smoothing); };
    };
    check_loss(g, cross_entropy(labels, 0), golden::kLossLabels0, golden::kLossLabels0Dlogits);
    check_loss(
        g, cross_entropy(labels, 0.125F), golden::kLossLabels125, golden::kLossLabels125Dlogits);
    check_loss(g, cross_entropy(soft, 0), golden::kLossSoft0, golden::kLossSoft0Dlogits);
    check_loss(g, cross_entropy(soft, 0.125F), golden::kLossSoft125, golden::kLossSoft125Dlogits);
    check_loss(
        g,
        [&](const Var& x) { return ops::mse(x, soft); },
        golden::kLossMse,
        golden::kLossMseDpred);
    Tensor p = g.ctx.empty({4, 5}, dtype);
    kernels::softmax(g.ctx, g.tensor({4, 5}, golden::kLossLogits), p);
    g.compare("softmax", p, golden::kLossSoftmax);
  }
}
