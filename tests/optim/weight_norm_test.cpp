#include "tests/golden/weight_norm.h"

#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/nn/layers.h"
#include "framework/nn/loss.h"
#include "framework/nn/model.h"
#include "framework/optim/sgd.h"
#include "framework/tensor/factory.h"
#include "tests/support/compare.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

// Layers with weight norm against PyTorch's in double precision.
using namespace learn;
namespace golden = learn::test::golden;
using Values = std::vector<double>;

namespace {

class Net final : public nn::Module {
 public:
  explicit Net(const nn::Scope& scope)
      : Module(scope),
        conv_(scope / "conv", 2, 4, {.weight_norm = true}),
        pool_(scope / "pool"),
        linear_(scope / "linear", 4, 3, {.weight_norm = true}) {}
  std::string describe() const override { return "Net"; }

 protected:
  Var forward(const Var& x) override { return linear_(ops::flatten(pool_(ops::relu(conv_(x))))); }

 private:
  nn::Conv2d conv_;
  nn::GlobalAvgPool pool_;
  nn::Linear linear_;
};

using Parameters = std::map<std::string, const Values*>;

const Parameters kInitial{{"conv.weight_g", &golden::kWnConvG},
                          {"conv.weight_v", &golden::kWnConvV},
                          {"conv.bias", &golden::kWnConvBias},
                          {"linear.weight_g", &golden::kWnLinearG},
                          {"linear.weight_v", &golden::kWnLinearV},
                          {"linear.bias", &golden::kWnLinearBias}};
const Parameters kGradients{{"conv.weight_g", &golden::kWnGradConvG},
                            {"conv.weight_v", &golden::kWnGradConvV},
                            {"conv.bias", &golden::kWnGradConvBias},
                            {"linear.weight_g", &golden::kWnGradLinearG},
                            {"linear.weight_v", &golden::kWnGradLinearV},
                            {"linear.bias", &golden::kWnGradLinearBias}};
const Parameters kTrained{{"conv.weight_g", &golden::kWnTrainedConvG},
                          {"conv.weight_v", &golden::kWnTrainedConvV},
                          {"conv.bias", &golden::kWnTrainedConvBias},
                          {"linear.weight_g", &golden::kWnTrainedLinearG},
                          {"linear.weight_v", &golden::kWnTrainedLinearV},
                          {"linear.bias", &golden::kWnTrainedLinearBias}};

struct Trial {
  explicit Trial(DType masters) : dtype(masters) {
    model.params->materialize(ctx, dtype);
    for (std::int64_t p = 0; p < store().size(); ++p) {
      const Values& values = *kInitial.at(store().info(p).name);
      Tensor master = store().master(p);
      REQUIRE(master.elements() == static_cast<std::int64_t>(values.size()));
      for (std::size_t i = 0; i < values.size(); ++i)
        set(master, static_cast<std::int64_t>(i), values[i]);
    }
  }
  nn::ParamStore& store() { return *model.params; }
  Var logits() {
    tape.reset();
    return (*model.module)(tape.input(from_values(ctx.step(), {5, 4, 4, 2}, golden::kWnX, dtype)));
  }
  double step() {
    const Tensor labels = from_values(ctx.step(), {5}, golden::kWnLabels, DType::i64);
    const Var loss = nn::cross_entropy().fn(logits(), labels);
    store().begin_gradients();
    tape.backward(loss);
    return get(loss.value(), 0);
  }
  void compare(const std::string& what, const Tensor& got, const Values& expected) {
    // f64: the same operations in another order. f32: some roundings of values below 4.
    const double allowed = dtype == DType::f64 ? 1e-13 : 4e-6;
    const Tensor want = from_values(ctx.step(), got.shape(), expected, DType::f64);
    const Comparison result = all_close(got, want, allowed, allowed);
    CHECK_MESSAGE(result.equal, (what + " in " + name_of(dtype) + ": " + result.text));
  }

  DType dtype;
  Context ctx{{.threads = 2}};
  nn::Model model = nn::make_model<Net>("net", {4, 4, 2}, 3);
  Tape tape{ctx};
};

}  // namespace

TEST_CASE("golden: outputs and gradients of layers with weight norm") {
  for (const DType dtype : {DType::f64, DType::f32}) {
    Trial t(dtype);
    t.compare("logits", t.logits().value(), golden::kWnLogits);
    CHECK(t.step() == doctest::Approx(golden::kWnLoss[0]).epsilon(1e-6));
    for (std::int64_t p = 0; p < t.store().size(); ++p) {
      const std::string& name = t.store().info(p).name;
      t.compare("gradient of " + name, t.store().slot(p).grad, *kGradients.at(name));
    }
  }
}

TEST_CASE("golden: steps of SGD with momentum and decay of lengths and directions") {
  Trial t(DType::f32);
  const auto optimizer = optim::sgd({.lr = static_cast<float>(golden::kWnLr),
                                     .momentum = static_cast<float>(golden::kWnMomentum),
                                     .weight_decay = static_cast<float>(golden::kWnDecay),
                                     .decay = optim::WeightDecay::coupled})(t.store());
  for (int i = 0; i < golden::kWnSteps; ++i) {
    (void)t.step();
    optimizer->step();
  }
  for (std::int64_t p = 0; p < t.store().size(); ++p) {
    const std::string& name = t.store().info(p).name;
    t.compare(name + " after the steps", t.store().master(p), *kTrained.at(name));
  }
}
