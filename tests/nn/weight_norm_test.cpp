#include "framework/autograd/autocast.h"
#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/nn/layers.h"
#include "framework/nn/model.h"
#include "framework/nn/summary.h"
#include "framework/tensor/factory.h"
#include "tests/support/compare.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace learn;

namespace {

/// A convolution and a linear layer, with weight norm or without.
class Net final : public nn::Module {
 public:
  Net(const nn::Scope& scope, bool weight_norm)
      : Module(scope),
        conv_(scope / "conv", 4, 6, {.groups = 2, .weight_norm = weight_norm}),
        linear_(scope / "linear", 6, 3, {.weight_norm = weight_norm}) {}
  std::string describe() const override { return "Net"; }

 protected:
  Var forward(const Var& x) override {
    return linear_(ops::reshape(conv_(x), {x.shape()[0] * 20, 6}));
  }

 private:
  nn::Conv2d conv_;
  nn::Linear linear_;
};

struct Trial {
  explicit Trial(bool weight_norm, DType masters = DType::f32)
      : model(nn::make_model<Net>("net", Shape{4, 5, 4}, 3, weight_norm)) {
    model.params->materialize(ctx, masters);
  }
  nn::ParamStore& store() { return *model.params; }
  [[nodiscard]] std::int64_t index(const char* name) {
    const std::int64_t i = store().find(name);
    REQUIRE_MESSAGE(i >= 0, name);
    return i;
  }
  Var output(const TapeOptions& options = {}) {
    tape.reset(options);
    const DType dtype = store().working_dtype();
    return (*model.module)(tape.input(uniform(ctx.step(), {2, 4, 5, 4}, dtype, -1, 1, 11)));
  }

  Context ctx{{.threads = 2, .seed = 14}};
  nn::Model model;
  Tape tape{ctx};
};

double length_of(const Tensor& weight, std::int64_t row) {
  const std::int64_t columns = weight.elements() / weight.shape()[0];
  double squares = 0;
  for (std::int64_t i = 0; i < columns; ++i) squares += std::pow(get(weight, row * columns + i), 2);
  return std::sqrt(squares);
}

void compare(const Tensor& got, const Tensor& expected, double allowed) {
  const Comparison result = all_close(got, expected, allowed, allowed);
  CHECK_MESSAGE(result.equal, result.text);
}

}  // namespace

TEST_CASE("weight norm: a layer starts with the outputs that it has without it") {
  Trial plain(false);
  Trial normalized(true);
  // v and the biases are what weight and biases are; g is v's length.
  for (const std::string layer : {"conv", "linear"}) {
    CAPTURE(layer);
    const Tensor weight = plain.store().master(plain.index((layer + ".weight").c_str()));
    const Tensor v = normalized.store().master(normalized.index((layer + ".weight_v").c_str()));
    const Tensor g = normalized.store().master(normalized.index((layer + ".weight_g").c_str()));
    CHECK(same_bits(v, weight).equal);
    REQUIRE(g.shape() ==
            (layer == "conv" ? Shape{weight.shape()[0], 1, 1, 1} : Shape{weight.shape()[0], 1}));
    for (std::int64_t k = 0; k < g.elements(); ++k)
      CHECK(get(g, k) == doctest::Approx(length_of(weight, k)).epsilon(1e-6));
    CHECK(normalized.store().find(layer + ".weight") < 0);
  }
  // Two roundings for each weight, of sums of 18 and 6 terms.
  compare(normalized.output().value(), plain.output().value(), 1e-6);
}

TEST_CASE("weight norm: an output's length is g, whatever v's is") {
  Trial t(true);
  const Tensor before = t.output().value();
  Tensor v = t.store().master(t.index("linear.weight_v"));
  for (std::int64_t i = 0; i < v.elements(); ++i) set(v, i, 4 * get(v, i));
  CHECK(same_bits(t.output().value(), before).equal);
  Tensor g = t.store().master(t.index("linear.weight_g"));
  Tensor bias = t.store().master(t.index("linear.bias"));
  for (std::int64_t i = 0; i < 3; ++i) {
    set(g, i, 2 * get(g, i));
    set(bias, i, 2 * get(bias, i));
  }
  const Tensor after = t.output().value();
  for (std::int64_t i = 0; i < after.elements(); ++i)
    CHECK(get(after, i) == doctest::Approx(2 * get(before, i)).epsilon(1e-6));
}

TEST_CASE("weight norm: lengths and directions are decayed, and only lengths stay f32") {
  Trial t(true);
  const nn::ParamInfo& g = t.store().info(t.index("conv.weight_g"));
  const nn::ParamInfo& v = t.store().info(t.index("conv.weight_v"));
  CHECK(nn::group_of(g) == nn::group_of(v));
  CHECK(nn::group_of(g) != nn::group_of(t.store().info(t.index("conv.bias"))));
  const Tensor full = t.output().value();
  for (const DType dtype : {DType::f16, DType::bf16}) {
    CAPTURE(dtype);
    t.store().set_working_dtype(dtype);
    CHECK(t.store().slot(t.index("conv.weight_g")).value.dtype() == DType::f32);
    CHECK(t.store().slot(t.index("conv.weight_v")).value.dtype() == dtype);
    const Var y = t.output();
    CHECK(y.dtype() == dtype);
    // Inputs, weights and sums are rounded to 11 or 8 bits; values are below 2.
    compare(y.value(), full, dtype == DType::f16 ? 4e-3 : 3e-2);
    t.store().begin_gradients();
    t.tape.backward(ops::sum(y));
    CHECK(t.store().slot(t.index("conv.weight_g")).grad.dtype() == DType::f32);
    CHECK(t.store().slot(t.index("conv.weight_v")).grad.dtype() == dtype);
  }
}

// Lengths and directions are f32 there, and so is what is made of them; the product casts it.
TEST_CASE("weight norm: under autocast weights are normalized in f32") {
  Trial t(true);
  const Tensor full = t.output().value();
  const Var y = t.output({.autocast = DType::bf16});
  CHECK(y.dtype() == DType::bf16);
  compare(y.value(), full, 3e-2);
  t.store().begin_gradients();
  t.tape.backward(ops::sum(y));
  for (const char* name : {"conv.weight_g", "conv.weight_v", "linear.weight_g"}) {
    CAPTURE(name);
    const ParamSlot& slot = t.store().slot(t.index(name));
    CHECK(slot.has_grad());
    CHECK(slot.grad.dtype() == DType::f32);
  }
}

TEST_CASE("weight norm: a frozen layer gets no gradients, and hands them on") {
  Trial t(true);
  t.store().set_layer_groups({"linear"});
  t.store().freeze();
  t.store().begin_gradients();
  t.tape.backward(ops::sum(t.output()));
  CHECK_FALSE(t.store().slot(t.index("conv.weight_g")).trainable);
  CHECK_FALSE(t.store().slot(t.index("conv.weight_g")).has_grad());
  CHECK_FALSE(t.store().slot(t.index("conv.weight_v")).has_grad());
  CHECK(t.store().slot(t.index("linear.weight_g")).has_grad());
}

TEST_CASE("weight norm: summary and descriptions show it") {
  Trial t(true);
  Trial plain(false);
  const std::string text = nn::summary(*t.model.module, t.store(), t.model.input, t.ctx, {});
  CHECK(text.find("Conv2d(4 -> 6, 3x3, pad 1, groups 2, weight norm)") != std::string::npos);
  CHECK(text.find("Linear(6 -> 3, weight norm)") != std::string::npos);
  CHECK(text.find("not used by the forward pass") == std::string::npos);
  // Nine lengths more, and as many products.
  CHECK(t.store().parameter_count() == plain.store().parameter_count() + 6 + 3);
  CHECK(text.find("\n2,520 multiply-adds") != std::string::npos);
}

TEST_CASE("weight norm: initial values without a direction are refused") {
  Context ctx({.threads = 1});
  nn::ParamStore store;
  const nn::Linear head(
      nn::Scope(store) / "head", 4, 2, {.init = nn::init::zeros(), .weight_norm = true});
  CHECK_THROWS_WITH_AS(store.materialize(ctx),
                       doctest::Contains("weight norm of 'head.weight': the initial values of "
                                         "output 0 are all zero and have no direction"),
                       UsageError);
}
