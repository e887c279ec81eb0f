#include "framework/nn/dry_pass.h"

#include "framework/autograd/ops.h"
#include "framework/nn/layers.h"
#include "framework/nn/model.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace learn;

namespace {

using Names = std::set<std::string>;

/// A hidden layer as wide as there are outputs, so that shapes alone tell nothing.
class Net final : public nn::Module {
 public:
  enum class End : std::uint8_t { linear, normed, scaled, biased, product };
  Net(const nn::Scope& scope, End end)
      : Module(scope),
        end_(end),
        hidden_(scope / "hidden", 3, 3),
        norm_(scope / "norm", 3),
        head_(scope / "head", 3, 3, {.weight_norm = end == End::normed}),
        own_(scope.param("own", {3}, nn::ParamRole::bias, nn::init::zeros())),
        mix_(scope.param("mix", {3, 3}, nn::ParamRole::weight, nn::init::ones())) {}
  std::string describe() const override { return "Net"; }

 protected:
  Var forward(const Var& x) override {
    const Var y = head_(norm_(hidden_(x)));
    if (end_ == End::scaled) return ops::scale(y, 2);
    if (end_ == End::biased) return ops::add_bias(y, x.tape().param(*own_));
    if (end_ == End::product) return ops::matmul(y, x.tape().param(*mix_));
    return y;
  }

 private:
  End end_;
  nn::Linear hidden_;
  nn::BatchNorm1d norm_;
  nn::Linear head_;
  nn::Param own_, mix_;
};

Names found(Net::End end, DType dtype = DType::f32) {
  Context ctx({.threads = 1});
  nn::Model model = nn::make_model<Net>("net", {3}, 3, end);
  model.params->materialize(ctx);
  model.params->set_working_dtype(dtype);
  return nn::output_parameters(*model.module, *model.params, model.input);
}

/// Halves the image by each of its layers.
class Shrinking final : public nn::Module {
 public:
  Shrinking(const nn::Scope& scope, int layers) : Module(scope), layers_(scope / "layers") {
    for (int i = 0; i < layers; ++i) {
      layers_.emplace<nn::Conv2d>(2, 2, nn::ConvOptions{.stride = 2});
      layers_.emplace<nn::BatchNorm2d>(2);
    }
  }
  std::string describe() const override { return "Shrinking"; }

 protected:
  Var forward(const Var& x) override { return layers_(x); }

 private:
  nn::Sequential layers_;
};

}  // namespace

TEST_CASE("only the last layer has parameters with a row for each output") {
  using End = Net::End;
  CHECK(found(End::linear) == Names{"head.weight", "head.bias"});
  CHECK(found(End::linear, DType::bf16) == Names{"head.weight", "head.bias"});
  CHECK(found(End::normed) == Names{"head.weight_g", "head.weight_v", "head.bias"});
  CHECK(found(End::scaled) == Names{"head.weight", "head.bias"});
  CHECK(found(End::biased) == Names{"head.weight", "head.bias", "own"});
  CHECK(found(End::product).empty());
}

TEST_CASE("a BatchNorm that would see one value of a sample is found, a frozen one by its mode") {
  Context ctx({.threads = 1});
  nn::Model model = nn::make_model<Shrinking>("shrinking", {4, 4, 2}, 2, 2);
  nn::ParamStore& store = *model.params;
  store.materialize(ctx);
  const auto norm = [&](const Shape& input, ForwardMode mode) {
    return nn::norm_of_single_values(*model.module, store, input, mode).value_or("none");
  };
  CHECK(norm({4, 4, 2}, ForwardMode::train) == "layers.3");
  CHECK(norm({2, 2, 2}, ForwardMode::train) == "layers.1");
  CHECK(norm({8, 8, 2}, ForwardMode::train) == "none");
  CHECK(norm({4, 4, 2}, ForwardMode::eval) == "none");
  CHECK(norm({4, 4, 2}, ForwardMode::train_unfrozen) == "layers.3");
  store.set_layer_groups({"layers.3"});
  store.freeze_to(1, false);
  CHECK(norm({4, 4, 2}, ForwardMode::train_unfrozen) == "layers.3");
  CHECK(norm({2, 2, 2}, ForwardMode::train_unfrozen) == "layers.3");
  CHECK(norm({2, 2, 2}, ForwardMode::train) == "layers.1");
  // Nothing of the model has changed.
  CHECK(store.buffer(0).value.span<float>()[0] == 0);
  CHECK(store.buffer(1).value.span<float>()[0] == 1);
}
