// Each operation of a forward pass, written as ONNX, read back and computed by plain loops.
#include "framework/autograd/ops.h"
#include "framework/nn/layers.h"
#include "tests/export/exported_model.h"

#include <array>

using namespace learn;

namespace {

/// The operation of a test on the image, and a linear layer of its result.
class Net final : public nn::Module {
 public:
  using Body = std::function<Var(Net&, const Var&)>;
  Net(const nn::Scope& scope, std::int64_t features, Body body)
      : Module(scope),
        body_(std::move(body)),
        conv_(scope / "conv", 4, 6, {.kernel = 3, .stride = 2, .groups = 2}),
        one_(scope / "one", 4, 4, {.kernel = 1, .bias = false}),
        norm_(scope / "norm", 4, {.eps = 0.1F}),
        layer_norm_(scope / "layer_norm", 4, 0.2F),
        rms_norm_(scope / "rms_norm", 4, 0.2F),
        last_(scope / "last", features, 3, {.weight_norm = true}),
        bias_(scope.param("own_bias", {4}, nn::ParamRole::bias, nn::init::ones())),
        kernel_(scope.param(
            "own_kernel", {5, 2, 3, 4}, nn::ParamRole::weight, nn::init::default_weight())),
        pair_(scope.param("own_pair", {2, 1, 1, 4}, nn::ParamRole::weight, nn::init::ones())) {}
  std::string describe() const override { return "Net"; }
  Var conv(const Var& x) { return conv_(x); }
  Var one(const Var& x) { return one_(x); }
  Var norm(const Var& x) { return norm_(x); }
  Var layer_norm(const Var& x) { return layer_norm_(x); }
  Var rms_norm(const Var& x) { return rms_norm_(x); }
  Var bias(const Var& x) { return ops::add_bias(x, x.tape().param(*bias_)); }
  Var kernel(const Var& x, const Conv2dOptions& o) {
    return ops::conv2d(x, x.tape().param(*kernel_), Var(), o);
  }
  Var pair(const Var& x) { return x.tape().param(*pair_); }
  Var train(const Var& x) {
    return ops::batch_norm(x,
                           x.tape().param(*bias_),
                           x.tape().param(*bias_),
                           x.tape().empty({4}, DType::f32),
                           x.tape().empty({4}, DType::f32),
                           Var(),
                           {},
                           ForwardMode::train);
  }

 protected:
  Var forward(const Var& x) override {
    const Var y = body_(*this, x);
    return y.shape().rank() == 1 ? y : last_(ops::flatten(y));
  }

 private:
  Body body_;
  nn::Conv2d conv_, one_;
  nn::BatchNorm2d norm_;
  nn::LayerNorm layer_norm_;
  nn::RMSNorm rms_norm_;
  nn::Linear last_;
  nn::Param bias_, kernel_, pair_;
};

/// Returns the image itself, or something else that is not logits.
class Plain final : public nn::Module {
 public:
  Plain(const nn::Scope& scope, std::int64_t what)
      : Module(scope),
        what_(what),
        rows_(scope.param("rows", {2, 3}, nn::ParamRole::weight, nn::init::ones())) {}
  std::string describe() const override { return "Plain"; }

 protected:
  Var forward(const Var& x) override {
    if (what_ == 0) return x;
    return what_ == 1 ? ops::relu(x) : x.tape().param(*rows_);
  }

 private:
  std::int64_t what_;
  nn::Param rows_;
};

nn::Model net(std::int64_t features, Net::Body body) {
  return nn::make_model<Net>("net", {5, 7, 4}, 3, features, std::move(body));
}

/// How far ONNX is from ours for a batch of 3, with images flattened either way.
double export_error(std::int64_t features, const Net::Body& body) {
  Trained trained(net(features, body));
  const Tensor x = trained.images(3);
  const Tensor logits = trained.logits(x);
  exported::Graph graph = trained.graph();
  const double moved = difference(run_onnx(parsed(onnx_text(graph)), channels_first(x)), logits);
  exported::flatten_channels_first(graph);
  return std::max(moved, difference(run_onnx(parsed(onnx_text(graph)), channels_first(x)), logits));
}

std::string refusal(const Net::Body& body) {
  Trained trained(net(140, body));
  try {
    (void)trained.graph();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "none";
}

/// An operation of a user's own.
struct NegateNode final : Node {
  std::string_view name() const override { return "negate"; }
  void backward(Tape&, const Tensor&) override {}
};

}  // namespace

TEST_CASE("every operation that a model is made of is exported with equal results") {
  struct Case {
    const char* name;
    std::int64_t features;
    Net::Body body;
  };
  const Pool2dOptions overlapping{3, 2, 2, 1, 1, 1, false};
  const Pool2dOptions whole{3, 2, 2, 1, 1, 1, true};
  std::vector<Case> cases{
      {"conv2d with groups, stride and bias", 72, [](Net& n, const Var& x) { return n.conv(x); }},
      {"conv2d with another padding on each side and stride",
       5 * 7 * 4,
       [](Net& n, const Var& x) {
         return n.kernel(x,
                         {.stride_h = 1,
                          .stride_w = 2,
                          .pad_top = 2,
                          .pad_bottom = 1,
                          .pad_left = 0,
                          .pad_right = 3});
       }},
      {"batch_norm", 140, [](Net& n, const Var& x) { return n.norm(x); }},
      {"batch_norm behind a convolution",
       140,
       [](Net& n, const Var& x) { return n.norm(n.one(x)); }},
      {"layer_norm of an image", 140, [](Net& n, const Var& x) { return n.layer_norm(x); }},
      {"layer_norm of features",
       4,
       [](Net& n, const Var& x) {
         return n.layer_norm(ops::flatten(ops::global_avg_pool(n.one(x))));
       }},
      {"rms_norm of an image", 140, [](Net& n, const Var& x) { return n.rms_norm(x); }},
      {"rms_norm of features",
       4,
       [](Net& n, const Var& x) {
         return n.rms_norm(ops::flatten(ops::global_avg_pool(n.one(x))));
       }},
      {"add", 140, [](Net& n, const Var& x) { return x + n.one(x); }},
      {"mul", 140, [](Net& n, const Var& x) { return ops::mul(x, n.one(x)); }},
      {"sub", 140, [](Net& n, const Var& x) { return x - n.one(x); }},
      {"div, sigmoid, tanh, exp",
       140,
       [](Net& n, const Var& x) { return ops::sigmoid(x) / ops::exp(ops::tanh(n.one(x))); }},
      {"abs, log, sqrt",
       140,
       [](Net&, const Var& x) { return ops::log(ops::exp(ops::sqrt(ops::abs(x)))); }},
      {"mul of what is repeated",
       140,
       [](Net&, const Var& x) { return ops::mul(x, ops::sigmoid(ops::global_avg_pool(x))); }},
      {"scale", 140, [](Net&, const Var& x) { return ops::scale(x, -0.3); }},
      {"add_bias of images", 140, [](Net& n, const Var& x) { return n.bias(x); }},
      {"add_bias of features",
       4,
       [](Net& n, const Var& x) { return n.bias(ops::flatten(ops::global_avg_pool(x))); }},
      {"max_pool2d",
       3 * 7 * 4 + 0,
       [&](Net&, const Var& x) {
         return ops::max_pool2d(x, {3, 3, 2, 1, 1, 1, true});
       }},
      {"avg_pool2d of what is inside",
       3 * 8 * 4,
       [&](Net&, const Var& x) { return ops::avg_pool2d(x, overlapping); }},
      {"avg_pool2d of the whole window",
       3 * 8 * 4,
       [&](Net&, const Var& x) { return ops::avg_pool2d(x, whole); }},
      {"global_avg_pool", 4, [](Net&, const Var& x) { return ops::global_avg_pool(x); }},
      {"global_max_pool", 4, [](Net&, const Var& x) { return ops::global_max_pool(x); }},
      {"concat of channels",
       280,
       [](Net& n, const Var& x) {
         return ops::concat(std::array{x, n.one(x)}, -1);
       }},
      {"concat of rows",
       280,
       [](Net& n, const Var& x) {
         return ops::concat(std::array{x, n.one(x)}, 1);
       }},
      {"concat of columns",
       280,
       [](Net& n, const Var& x) {
         return ops::concat(std::array{x, n.one(x)}, 2);
       }},
      {"concat of features",
       280,
       [](Net& n, const Var& x) {
         return ops::concat(std::array{ops::flatten(x), ops::flatten(n.one(x))}, 1);
       }},
      {"reshape of an image",
       140,
       [](Net&, const Var& x) {
         return ops::relu(ops::reshape(x, {x.shape()[0], 7, 10, 2}));
       }},
      {"reshape of features to an image",
       140,
       [](Net& n, const Var& x) {
         return n.one(ops::reshape(ops::relu(ops::flatten(x)), {x.shape()[0], 7, 5, 4}));
       }},
      {"reshape to one channel",
       140,
       [](Net&, const Var& x) {
         return ops::scale(ops::reshape(x, {x.shape()[0], 7, 20, 1}), 2);
       }},
  };
  for (std::size_t i = 1; i < kActivations.size(); ++i)
    cases.push_back(
        {kActivations.at(i).name, 140, [kind = kActivations.at(i).kind](Net&, const Var& x) {
           return ops::activation(x, kind);
         }});
  for (const Case& one : cases) {
    INFO(std::string(one.name));
    CHECK(export_error(one.features, one.body) < kRounding);
  }
}

TEST_CASE("an operation that cannot be exported is refused with the name of the module") {
  CHECK(refusal([](Net&, const Var& x) { return x.tape().record({x}, x.value(), NegateNode()); }) ==
        "the model cannot be exported: in a custom forward the operation 'negate' does not exist "
        "in other runtimes");
  CHECK(refusal([](Net& n, const Var& x) {
          Tensor other = x.tape().empty(x.shape(), DType::f32);
          return n.one(x) + x.tape().input(other);
        }).find("the operation 'add' uses a value (2,5,7,4) that is not a parameter") !=
        std::string::npos);
  CHECK(refusal([](Net&, const Var& x) {
          return ops::reshape(x, {1, 140 * 2});
        }).find("the operation 'reshape' returns (1,280) for a batch of 2: it mixes images") !=
        std::string::npos);
  CHECK(refusal([](Net&, const Var& x) {
          return ops::reshape(x, {280});
        }).find("it mixes images") != std::string::npos);
  CHECK(refusal([](Net&, const Var& x) {
          return ops::conv2d(x, ops::scale(x, 2), Var(), {});
        }).find("the operation 'conv2d' uses a weight that depends on the image") !=
        std::string::npos);
  CHECK(refusal([](Net& n, const Var& x) {
          return ops::add(n.pair(x), ops::global_avg_pool(n.bias(x)));
        }).find("the operation 'add' uses the parameter 'own_pair' as a value") !=
        std::string::npos);
  CHECK(refusal([](Net& n, const Var& x) {
          const Var rows = ops::reshape(ops::concat(std::array{x, x}, 3), {2, 35, 2, 4});
          return rows - n.bias(ops::flatten(ops::global_avg_pool(x)));
        }).find("the operation 'sub' broadcasts an operand of fewer dimensions") !=
        std::string::npos);
  CHECK(refusal([](Net&, const Var& x) {
          return ops::clamp(x, 0, 1);
        }).find("the operation 'clamp' does not exist in other runtimes") != std::string::npos);
  CHECK(refusal([](Net& n, const Var& x) {
          return n.train(x);
        }).find("'batch_norm' does not use the running statistics of a module") !=
        std::string::npos);
  CHECK(refusal([](Net& n, const Var& x) {
          const Var wide = ops::concat(std::array{x, n.one(x)}, 3);
          x.tape().set_padding(wide, 4);
          return n.kernel(wide, {});
        }).find("the operation 'conv2d' uses padded channels") != std::string::npos);
}

TEST_CASE("a model whose output is not logits, and one of features, are refused") {
  for (const std::int64_t what : {0, 1, 2}) {
    Trained trained(nn::make_model<Plain>("plain", {5, 7, 4}, 3, what));
    CHECK_THROWS_WITH_AS(
        (void)trained.graph(), doctest::Contains("it must return logits"), UsageError);
  }
  Trained trained(net(140, [](Net&, const Var& x) { return x; }));
  CHECK_THROWS_WITH_AS(
      (void)exported::trace(*trained.model.module, *trained.model.params, {140}),
      doctest::Contains("only models of images (H,W,C) can be exported, not (140)"),
      UsageError);
}
