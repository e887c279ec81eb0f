#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/nn/layers.h"
#include "framework/nn/loss.h"
#include "framework/nn/model.h"
#include "framework/tensor/factory.h"
#include "tests/support/compare.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

using namespace learn;

namespace {

/// Every kind of layer, a shared one included. Smooth activations, so that differences are exact.
class Everything final : public nn::Module {
 public:
  explicit Everything(const nn::Scope& scope)
      : Module(scope),
        layers_(scope / "layers"),
        shared_(scope / "shared", 6, 6, {.weight_norm = true}) {
    layers_.emplace<nn::Conv2d>(3, 4, nn::ConvOptions{.stride = 2});
    layers_.emplace<nn::BatchNorm2d>(4, BatchNormOptions{.activation = ActivationKind::silu()});
    layers_.emplace<nn::Residual>(
        [](nn::Sequential& s) {
          s.emplace<nn::ConvBnAct>(
              4, 6, nn::ConvBnActOptions{.groups = 2, .activation = ActivationKind::gelu()});
        },
        [](nn::Sequential& s) {
          s.emplace<nn::Conv2d>(4, 6, nn::ConvOptions{.kernel = 1, .weight_norm = true});
        });
    layers_.emplace<nn::AvgPool2d>(Pool2dOptions::square(3, 1, 1));
    layers_.emplace<nn::MaxPool2d>(2);
    layers_.emplace<nn::Dropout>(0.25);
    layers_.emplace<nn::GlobalAvgPool>();
    layers_.emplace<nn::Flatten>();
    layers_.emplace<nn::BatchNorm1d>(6);
    layers_.emplace<nn::Activation>(ActivationKind::silu());
    head_.emplace(scope / "head", 6, 5);
  }
  std::string describe() const override { return "Everything"; }

 protected:
  Var forward(const Var& x) override {
    const Var features = layers_(x);
    return (*head_)(shared_(ops::add(shared_(features), features)));
  }

 private:
  nn::Sequential layers_;
  nn::Linear shared_;
  std::optional<nn::Linear> head_;
};

struct Problem {
  explicit Problem(float smoothing) : criterion(nn::cross_entropy(smoothing)) {
    model.params->materialize(ctx, DType::f64);
    images = uniform(ctx.persistent(), {4, 9, 8, 3}, DType::f64, -1, 1, ctx.seed());
    classes = Tensor(ctx.persistent(), {4}, DType::i64);
    for (std::int64_t i = 0; i < 4; ++i) set(classes, i, static_cast<double>((3 * i + 1) % 5));
  }
  /// Repeats the batch number, and so the dropout mask.
  Var loss() {
    tape.reset({.mode = mode, .batch = 5});
    x = tape.input(images, true);
    return criterion.fn((*model.module)(x), classes);
  }
  double value() { return get(loss().value(), 0); }

  Context ctx{{.threads = 1, .seed = 31}};
  nn::Model model = nn::make_model<Everything>("everything", {9, 8, 3}, 5);
  nn::Loss criterion;
  ForwardMode mode = ForwardMode::train;
  Tape tape{ctx};
  Tensor images, classes;
  Var x;
};

/// Elements of `values`, at most 40 spread over all, against central differences.
void check_slope(Problem& problem,
                 Tensor& values,
                 const Tensor& gradient,
                 const std::string& what) {
  const std::int64_t stride = std::max<std::int64_t>(1, values.elements() / 40);
  for (std::int64_t i = 0; i < values.elements(); i += stride) {
    CAPTURE(what);
    CAPTURE(i);
    constexpr double kStep = 1e-5;  // error of the difference: step^2 plus 1e-16 / step
    const double at = get(values, i);
    set(values, i, at + kStep);
    const double above = problem.value();
    set(values, i, at - kStep);
    const double below = problem.value();
    set(values, i, at);
    const double slope = (above - below) / (2 * kStep);
    CHECK(std::abs(get(gradient, i) - slope) <= 1e-7 + 1e-6 * std::abs(slope));
  }
}

/// Gradients of the loss by the images and by every trained parameter.
void check_slopes(Problem& problem) {
  CAPTURE(problem.ctx.seed());
  nn::ParamStore& store = *problem.model.params;
  store.begin_gradients();
  problem.tape.backward(problem.loss());
  Arena host("gradients", cpu_pages());
  Tensor dx(host, problem.images.shape(), DType::f64);
  const Tensor grad = problem.tape.grad_of(problem.x);
  for (std::int64_t i = 0; i < dx.elements(); ++i) set(dx, i, get(grad, i));
  check_slope(problem, problem.images, dx, "images");
  for (std::int64_t p = 0; p < store.size(); ++p) {
    if (!store.slot(p).trainable) continue;
    Tensor values = store.master(p);
    check_slope(problem, values, store.master_grad(p), store.info(p).name);
  }
}

}  // namespace

TEST_CASE("all gradients of a net of every layer agree with central differences in double") {
  for (const float smoothing : {0.0F, 0.1F}) {
    CAPTURE(smoothing);
    Problem problem(smoothing);
    check_slopes(problem);
  }
}

TEST_CASE("gradients through frozen BatchNorm layers that use running statistics are right") {
  Problem problem(0);
  nn::ParamStore& store = *problem.model.params;
  problem.mode = ForwardMode::train_unfrozen;
  const std::string frozen = "layers.1";  // after the first convolution
  for (std::int64_t p = 0; p < store.size(); ++p)
    if (store.info(p).name.starts_with(frozen)) store.slot(p).trainable = false;
  // Statistics that are those of no batch, so that gradients through these would be others.
  for (std::int64_t b = 0; b < store.buffer_count(); ++b)
    for (std::int64_t i = 0; i < store.buffer(b).value.elements(); ++i)
      set(store.buffer(b).value, i, 0.5 + 0.25 * static_cast<double>(i));
  Arena host("statistics", cpu_pages());
  const auto copied = [&](const Tensor& from) {
    Tensor copy(host, from.shape(), DType::f64);
    for (std::int64_t i = 0; i < copy.elements(); ++i) set(copy, i, get(from, i));
    return copy;
  };
  std::vector<Tensor> before;
  for (std::int64_t b = 0; b < store.buffer_count(); ++b)
    before.push_back(copied(store.buffer(b).value));
  check_slopes(problem);
  for (std::int64_t b = 0; b < store.buffer_count(); ++b) {
    const nn::BufferSlot& buffer = store.buffer(b);
    CAPTURE(buffer.name);
    CHECK(same_bits(buffer.value, before[static_cast<std::size_t>(b)]).equal ==
          buffer.name.starts_with(frozen));
  }
}
