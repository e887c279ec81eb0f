#include "framework/autograd/ops.h"
#include "framework/nn/layers.h"
#include "models/registry.h"
#include "tests/export/exported_model.h"

#include <array>

using namespace learn;

namespace {

int count(const exported::Graph& graph, std::string_view op) {
  int n = 0;
  for (const exported::Operation& operation : graph.operations) n += operation.op == op ? 1 : 0;
  return n;
}

double onnx_error(const exported::Graph& graph, const Tensor& images, const Tensor& logits) {
  return difference(run_onnx(parsed(onnx_text(graph)), channels_first(images)), logits);
}

/// Layers of which some can be folded: `shared` runs twice, `seen` is looked at by others too.
class Norms final : public nn::Module {
 public:
  explicit Norms(const nn::Scope& scope)
      : Module(scope),
        folded_(scope / "folded", 3, 3, {.kernel = 1}),
        shared_(scope / "shared", 3, 3, {.kernel = 1, .bias = false}),
        seen_(scope / "seen", 3, 3, {.kernel = 1, .bias = false}),
        norm1_(scope / "norm1", 3),
        norm2_(scope / "norm2", 3),
        norm3_(scope / "norm3", 3),
        norm4_(scope / "norm4", 3),
        hidden_(scope / "hidden", 3, 5, {.bias = false}),
        norm5_(scope / "norm5", 5),
        last_(scope / "last", 5, 2) {}
  std::string describe() const override { return "Norms"; }

 protected:
  Var forward(const Var& x) override {
    Var y = norm1_(folded_(x));
    y = norm2_(shared_(norm3_(shared_(y))));
    const Var seen = seen_(y);
    y = ops::add(norm4_(seen), seen);
    return last_(norm5_(hidden_(ops::flatten(pool_(y)))));
  }

 private:
  static Var pool_(const Var& x) { return ops::reshape(x, {x.shape()[0], 3}); }
  nn::Conv2d folded_, shared_, seen_;
  nn::BatchNorm2d norm1_, norm2_, norm3_, norm4_;
  nn::Linear hidden_;
  nn::BatchNorm1d norm5_;
  nn::Linear last_;
};

}  // namespace

TEST_CASE("batch normalization is folded where nothing else sees the layer, with equal logits") {
  Trained trained(nn::make_model<Norms>("norms", {1, 1, 3}, 2));
  const Tensor x = trained.images(4);
  const Tensor logits = trained.logits(x);
  exported::Graph graph = trained.graph();
  CHECK(onnx_error(graph, x, logits) < kRounding);
  CHECK(exported::fold_batch_norm(graph) == 2);
  CHECK(onnx_error(graph, x, logits) < kRounding);
  CHECK(count(graph, "batch_norm") == 3);
  CHECK(graph.weights.contains("folded.bias"));
  CHECK(graph.weights.contains("hidden.bias"));  // that the layer did not have
  CHECK_FALSE(graph.weights.contains("norm1.running_var"));
  CHECK(graph.weights.contains("norm2.running_var"));
}

TEST_CASE("models of the zoo are exported with equal logits for any batch, folded or not") {
  for (const std::string& name : models::model_registry().names()) {
    // Small images, and as narrow as they come: plain loops take their time.
    const bool wide = name == "linear";
    const std::string spec = name + (wide               ? ""
                                     : name == "wrn_22" ? ":width=1"
                                     : name == "mlp"    ? ":width=8"
                                                        : ":width=2");
    INFO(spec);
    Trained trained(models::make_model(spec, {.classes = 5, .input = {9, 16, 3}}));
    exported::Graph graph = trained.graph();
    exported::Graph folded = graph;
    exported::flatten_channels_first(graph);
    exported::fold_batch_norm(folded);
    for (const std::int64_t batch : {1, 3}) {
      const Tensor x = trained.images(batch);
      const Tensor logits = trained.logits(x);
      CHECK(onnx_error(graph, x, logits) < kRounding);
      CHECK(onnx_error(folded, x, logits) < kRounding);
    }
    CHECK(count(graph, "to_nhwc") == 0);
    // Has the normalization before the convolution, or a pool between them.
    const bool apart = name == "wrn_22" || name.starts_with("airbench");
    CHECK((count(folded, "batch_norm") > 0) == apart);
  }
}

TEST_CASE("weight norm is computed once: the graph has plain weights") {
  Trained trained(
      models::make_model("mlp:width=4,weight_norm=true", {.classes = 2, .input = {2, 3, 3}}));
  exported::Graph graph = trained.graph();
  const std::vector<exported::FlattenedWeight> turned = exported::flatten_channels_first(graph);
  REQUIRE(turned.size() == 1);
  CHECK(turned.front().name == "layers.1.weight");
  CHECK(turned.front().image == Shape{3, 2, 3});
  const Tensor x = trained.images(2);
  CHECK(onnx_error(graph, x, trained.logits(x)) < kRounding);
}

TEST_CASE("columns are turned to the order of PyTorch and back") {
  // One row of 2 x 1 pixels of 3 channels: (h, c) becomes (c, h).
  exported::Weight weight{{1, 6}, {0, 1, 2, 10, 11, 12}};
  exported::turn_columns(weight, {3, 2, 1});
  CHECK(weight.values == std::vector<float>{0, 10, 1, 11, 2, 12});
  exported::turn_columns(weight, {3, 2, 1}, true);
  CHECK(weight.values == std::vector<float>{0, 1, 2, 10, 11, 12});
}

TEST_CASE("a graph can normalize images first and end in probabilities") {
  Trained trained(models::make_model("linear", {.classes = 3, .input = {2, 2, 3}}));
  const std::array<float, 3> mean{0.25F, 0.5F, 0.125F};
  const std::array<float, 3> std{0.5F, 0.25F, 2};
  exported::Graph graph = trained.graph();
  CHECK_THROWS_WITH_AS(
      exported::normalize_first(graph, std::span(mean).first(2), std),
      doctest::Contains("2 means and 3 standard deviations do not fit images of 3 channels"),
      UsageError);
  exported::normalize_first(graph, mean, std);
  exported::end_in_softmax(graph);
  const onnx::ModelProto model = parsed(onnx_text(graph));
  CHECK(model.graph().output(0).name() == "probabilities");
  const Tensor raw = trained.images(2);
  Tensor x = trained.images(2);
  std::size_t i = 0;
  for (float& v : x.span<float>()) {
    v = (v - mean.at(i % 3)) / std.at(i % 3);
    ++i;
  }
  Tensor wanted = trained.logits(x);
  const auto p = wanted.span<float>();
  for (std::size_t row = 0; row < p.size(); row += 3) {
    const float sum = std::exp(p[row]) + std::exp(p[row + 1]) + std::exp(p[row + 2]);
    for (std::size_t c = 0; c < 3; ++c) p[row + c] = std::exp(p[row + c]) / sum;
  }
  CHECK(difference(run_onnx(model, channels_first(raw)), wanted) < kRounding);
}

TEST_CASE("with probabilities the output has another name, and each label is independent") {
  Trained trained(models::make_model("linear", {.classes = 3, .input = {2, 2, 3}}));
  exported::Graph graph = trained.graph();
  exported::rename_output(graph, "values");
  const Tensor x = trained.images(2);
  Tensor wanted = trained.logits(x);
  const onnx::ModelProto values = parsed(onnx_text(graph));
  CHECK(values.graph().output(0).name() == "values");
  CHECK(difference(run_onnx(values, channels_first(x)), wanted) < kRounding);
  exported::end_in_sigmoid(graph);
  const onnx::ModelProto labels = parsed(onnx_text(graph));
  CHECK(labels.graph().output(0).name() == "probabilities");
  for (float& v : wanted.span<float>()) v = 1 / (1 + std::exp(-v));
  CHECK(difference(run_onnx(labels, channels_first(x)), wanted) < kRounding);
}
