#include "framework/nn/summary.h"

#include "framework/nn/layers.h"
#include "framework/nn/model.h"

#include <doctest/doctest.h>

#include <string>

using namespace learn;

namespace {

/// Uses `twice_` two times, `skipped_` never, and has its own parameter.
class Odd final : public nn::Module {
 public:
  explicit Odd(const nn::Scope& scope)
      : Module(scope),
        conv_(scope / "conv", 3, 4, {.stride = 2}),
        norm_(scope / "norm", 4, {.activation = ActivationKind::relu()}),
        twice_(scope / "twice", 4, 4, {.kernel = 1, .bias = false}),
        skipped_(scope / "skipped", 7, 2),
        own_(scope.param("own", {5}, nn::ParamRole::bias, nn::init::zeros())) {}
  std::string describe() const override { return "Odd"; }

 protected:
  Var forward(const Var& x) override { return twice_(twice_(norm_(conv_(x)))); }

 private:
  nn::Conv2d conv_;
  nn::BatchNorm2d norm_;
  nn::Conv2d twice_;
  nn::Linear skipped_;
  nn::Param own_;
};

}  // namespace

TEST_CASE("summary shows layers, shapes, parameters, precision and what is trained") {
  Context ctx({.threads = 1});
  nn::Model model = nn::make_model<Odd>("odd", {8, 8, 3}, 2);
  nn::ParamStore& store = *model.params;
  CHECK_THROWS_WITH_AS((void)nn::summary(*model.module, store, model.input, ctx),
                       doctest::Contains("materialize"),
                       UsageError);
  store.set_layer_groups({"twice"});
  store.materialize(ctx);
  store.freeze();
  store.set_working_dtype(DType::f16);
  // conv: 3*3*3*4 + 4; multiply-adds: 16 * 108 + 2 * 16 * 16.
  CHECK(
      nn::summary(*model.module, store, model.input, ctx) ==
      R"(layer    type                                  output         parameters  precision  trained
--------------------------------------------------------------------------------------------
conv     Conv2d(3 -> 4, 3x3, stride 2, pad 1)  (N,4,4,4) f16         112  f16        no
norm     BatchNorm2d(4, relu)                  (N,4,4,4) f16           8  f32        yes
twice    Conv2d(4 -> 4, 1x1, no bias)          (N,4,4,4) f16          16  f16        yes
twice    Conv2d(4 -> 4, 1x1, no bias)          (N,4,4,4) f16      shared  f16        yes
(model)  Odd                                   (N,4,4,4) f16           5  f16        yes

157 parameters, 45 trained, 112 frozen
2,240 multiply-adds in convolutions and linear layers for one sample (8,8,3)
layer groups: 2, precision: f16
not used by the forward pass: skipped.weight (2,7)
not used by the forward pass: skipped.bias (2)
)");
}

TEST_CASE("summary shows what computes in what under autocast and which modules keep f32") {
  Context ctx({.threads = 1});
  nn::Model model = nn::make_model<Odd>("odd", {8, 8, 3}, 2);
  model.params->materialize(ctx);
  model.params->keep_f32({"norm"});
  const std::string text = nn::summary(*model.module, *model.params, model.input, ctx, DType::bf16);
  CAPTURE(text);
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  CHECK(has("Conv2d(3 -> 4, 3x3, stride 2, pad 1)  (N,4,4,4) bf16         112  f32"));
  CHECK(has("layer groups: 1, precision: f32, autocast to bf16\nkept in f32: norm\n"));
}

TEST_CASE("summary changes nothing of the model") {
  Context ctx({.threads = 1});
  nn::Model model = nn::make_model<Odd>("odd", {8, 8, 3}, 2);
  model.params->materialize(ctx);
  const double before = static_cast<double>(model.params->buffer(0).value.span<float>()[0]);
  (void)nn::summary(*model.module, *model.params, model.input, ctx);
  CHECK(static_cast<double>(model.params->buffer(0).value.span<float>()[0]) == before);
  for (std::int64_t i = 0; i < model.params->size(); ++i) CHECK(!model.params->slot(i).has_grad());
}
