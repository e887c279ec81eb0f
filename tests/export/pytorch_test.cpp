#include "framework/export/pytorch.h"

#include "framework/autograd/ops.h"
#include "framework/export/pytorch_layers.h"
#include "framework/io/atomic_file.h"
#include "framework/io/checkpoint.h"
#include "framework/nn/layers.h"
#include "models/registry.h"
#include "tests/export/exported_model.h"
#include "tests/support/temporary_folder.h"

#include <array>

using namespace learn;

namespace {

/// Everything that has a line of Python.
class Every final : public nn::Module {
 public:
  explicit Every(const nn::Scope& scope)
      : Module(scope),
        stem_(scope / "stem", 3, 4, {.kernel = 3, .stride = 2, .pad = 1}),
        body_(scope / "body"),
        bias_(scope.param("shift", {4}, nn::ParamRole::bias, nn::init::zeros())),
        head_(scope / "head", 2 * 2 * 8, 2, {.bias = false}) {
    body_.emplace<nn::Conv2d>(4, 4, nn::ConvOptions{.kernel = 1, .groups = 2, .bias = false});
    body_.emplace<nn::BatchNorm2d>(
        4, BatchNormOptions{.eps = 0.5F, .activation = ActivationKind::leaky_relu(0.25F)});
    body_.emplace<nn::LayerNorm>(4, 0.25F);
    body_.emplace<nn::RMSNorm>(4, 0.125F);
  }
  std::string describe() const override { return "Every"; }

 protected:
  Var forward(const Var& x) override {
    const Var y = body_(stem_(x));
    const Var z = ops::add_bias(ops::gelu(y), x.tape().param(*bias_));
    const Var w = ops::scale(ops::add(ops::mul(z, y), z), 0.5);
    const Var small =
        ops::max_pool2d(ops::avg_pool2d(w, {3, 3, 1, 1, 1, 1, false}), {2, 2, 1, 1, 0, 0, true});
    const Var both = ops::concat(std::array{small, ops::silu(small)}, 3);
    return head_(ops::flatten(ops::reshape(
        ops::relu(ops::reshape(ops::relu(both), {x.shape()[0], 4, 4, 2})), {x.shape()[0], 8, 4})));
  }

 private:
  nn::Conv2d stem_;
  nn::Sequential body_;
  nn::Param bias_;
  nn::Linear head_;
};

std::string lines_between(const std::string& text,
                          const std::string& first,
                          const std::string& behind) {
  const std::size_t begin = text.find(first);
  REQUIRE(begin != std::string::npos);
  return text.substr(begin, text.find(behind, begin) - begin);
}

/// A graph of one operation on images of 2 channels.
exported::Graph graph_of(const exported::Operation& operation) {
  exported::Graph graph;
  graph.values = {{"image", {2, 4, 4}}, {"logits", {2, 4, 4}}};
  graph.operations.push_back(operation);
  graph.operations.back().output = "logits";
  for (std::size_t i = 1; i < operation.inputs.size(); ++i)
    graph.weights[operation.inputs[i]] = {{2, 2, 1, 1}, {1, 2, 3, 4}};
  return graph;
}

}  // namespace

TEST_CASE("the module for PyTorch reads like one written by hand") {
  Trained trained(nn::make_model<Every>("every", {5, 5, 3}, 2));
  const exported::Graph graph = trained.graph();
  const std::string text = exported::pytorch_module(graph,
                                                    {.model = "every",
                                                     .classes = {"a\"\n", "b"},
                                                     .mean = {0.5F},
                                                     .std = {2},
                                                     .weights_file = "e.safetensors"});
  CHECK(lines_between(text, "CLASSES", "\n\nclass") == R"(CLASSES = [
    "a\"\x0a",
    "b",
]
MEAN = [0.5]
STD = [2]
)");
  CHECK(lines_between(text, "class Model", "def load") == R"(class Model(nn.Module):
    """Normalized images (N, 3, 5, 5) to logits (N, 2)."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.body = nn.ModuleList([
            nn.Conv2d(4, 4, 1, groups=2, bias=False),
            nn.BatchNorm2d(4, eps=0.5),
            nn.LayerNorm(4, eps=0.25),
            nn.RMSNorm(4, eps=0.125),
        ])
        self.shift = nn.Parameter(torch.empty(4))
        self.head = nn.Linear(32, 2, bias=False)

    def forward(self, x):
        x = self.stem(x)
        # body.0
        x = self.body[0](x)
        # body.1
        x = F.leaky_relu(self.body[1](x), 0.25)
        # body.2
        x = self.body[2](x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        # body.3
        x = self.body[3](x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        y = F.gelu(x) + self.shift.view(-1, 1, 1)
        x = F.avg_pool2d((y * x + y) * 0.5, 3, stride=1, padding=1, count_include_pad=False)
        x = F.max_pool2d(x, 2, stride=1)
        x = F.relu(torch.cat([x, F.silu(x)], dim=1)).permute(0, 2, 3, 1).reshape(-1, 4, 4, 2)
        x = torch.flatten(F.relu(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1).reshape(-1, 8, 4), 1)
        return self.head(x)


)");
  // Layers by PyTorch's names that are not a list, at the root too, and padding that differs by
  // side.
  exported::Graph odd = graph_of(
      {"conv2d", "0", {"image", "0.weight"}, "", Conv2dOptions{.pad_top = 1, .pad_right = 2}});
  odd.operations.insert(
      odd.operations.begin(),
      {"batch_norm",
       "2.norm",
       {"image", "2.norm.weight", "2.norm.bias", "2.norm.running_mean", "2.norm.running_var"},
       "normed",
       BatchNormAttributes{}});
  odd.operations.back().inputs[0] = "normed";
  odd.values["normed"] = {2, 4, 4};
  odd.weights["2.norm.weight"] = {{2}, {1, 1}};
  odd.operations.insert(odd.operations.begin() + 1,
                        {"add_bias", "2", {"normed", "own.shift"}, "shifted", {}});
  odd.operations.back().inputs[0] = "shifted";
  odd.values["shifted"] = {2, 4, 4};
  odd.weights["own.shift"] = {{2}, {1, 1}};
  CHECK(lines_between(exported::pytorch_module(odd, {}), "        self.", "\n\ndef load") ==
        R"(        self.add_module("2", nn.ModuleDict({
            "norm": nn.BatchNorm2d(2),
        }))
        self.own = nn.ParameterDict({
            "shift": nn.Parameter(torch.empty(2)),
        })
        self.add_module("0", nn.Conv2d(2, 2, 1, bias=False))

    def forward(self, x):
        # 2
        x = self.get_submodule("2")["norm"](x)
        return self.get_submodule("0")(F.pad(x + self.own["shift"].view(-1, 1, 1), (0, 2, 1, 0)))
)");
}

TEST_CASE("weights for PyTorch have its names, layouts and counters, and are not a checkpoint") {
  Trained trained(models::make_model("small:width=2", {.classes = 3, .input = {8, 8, 3}}));
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "net.safetensors";
  exported::write_pytorch(path, trained.graph(), {.model = "small"}, {{"learn.model", "small"}});
  const SafetensorsFile file(path);
  CHECK(file.metadata().at("format") == "pt");
  CHECK(file.metadata().at("learn.model") == "small");
  // Equal to a checkpoint of the model in every bit, because nothing is flattened or folded.
  save_weights(folder.path() / "own.safetensors", *trained.model.params);
  const SafetensorsFile own(folder.path() / "own.safetensors");
  REQUIRE(file.tensors().size() == own.tensors().size());
  for (const auto& [named, entry] : own.tensors()) {
    const std::string name = named;  // which a lambda may take
    INFO(name);
    REQUIRE(file.tensors().contains(name));
    const TensorEntry& other = file.tensors().at(name);
    CHECK(other.shape == entry.shape);
    CHECK(other.dtype == entry.dtype);
    std::vector<std::byte> a(entry.end - entry.begin);
    std::vector<std::byte> b(a.size());
    own.read(entry, a);
    file.read(other, b);
    CHECK(a == b);
  }
  const std::string module = read_text_file(exported::pytorch_module_path(path));
  CHECK(module.find("with_name(\"net.safetensors\")") != std::string::npos);
  CHECK_THROWS_WITH_AS((void)load_weights(path, *trained.model.params),
                       doctest::Contains("was exported for PyTorch"),
                       CheckpointError);
}

TEST_CASE("parameters that PyTorch's layers cannot hold are refused by name") {
  const exported::Operation conv{"conv2d", "stem", {"image", "stem.kernel"}, "", Conv2dOptions{}};
  const auto refused = [](const exported::Graph& graph, const char* why) {
    CHECK_THROWS_WITH_AS(
        (void)exported::pytorch_module(graph, {}), doctest::Contains(why), UsageError);
  };
  refused(graph_of(conv),
          "the conv2d in 'stem' cannot be exported to PyTorch: its parameters must be named");
  exported::Operation named = conv;
  named.inputs = {"image", "stem.weight", "other.bias"};
  refused(graph_of(named), "they start with 'stem.weight'");
  refused(graph_of({"softmax", "head", {"image"}, "", {}}),
          "'softmax' in 'head' cannot be expressed in PyTorch");

  named.inputs = {"image", "stem.weight"};
  exported::Graph twice = graph_of(named);
  twice.operations.push_back(twice.operations.front());
  twice.operations.back().attributes = Conv2dOptions::symmetric(2, 0);
  refused(twice,
          "'stem' cannot be exported to PyTorch: it is both nn.Conv2d(2, 2, 1, stride=2, "
          "bias=False) and nn.Conv2d(2, 2, 1, bias=False)");
  exported::Graph nested = graph_of(named);
  nested.operations.push_back(nested.operations.front());
  nested.operations.back().inputs[1] = "stem.inner.weight";
  nested.weights["stem.inner.weight"] = nested.weights["stem.weight"];
  refused(nested, "'stem.inner' cannot be exported to PyTorch: it would be inside another layer");
  std::swap(nested.operations[0], nested.operations[1]);
  refused(nested, "and a container of other layers");
  exported::Graph mixed = graph_of(named);
  mixed.operations.front().inputs[1] = "stem.conv.weight";
  mixed.weights["stem.conv.weight"] = mixed.weights["stem.weight"];
  mixed.operations.push_back({"add_bias", "stem", {"image", "stem.shift"}, "logits", {}});
  mixed.weights["stem.shift"] = {{2}, {0, 0}};
  refused(mixed, "it is a parameter outside of the layers");
}

TEST_CASE("no name can put code into a module") {
  CHECK(exported::python_text("a\"b\\c\n") == R"("a\"b\\c\x0a")");
  CHECK(exported::python_text("caf\xc3\xa9\xff") == "\"caf\xc3\xa9\\udcff\"");
  CHECK(exported::python_text("a\xe2\x80\xae") == R"("a\u202e")");
  CHECK(exported::python_words("q\"\"\"\nimport os\\") == R"(q\"\"\"\\x0aimport os\\)");
  Trained trained(models::make_model("linear", {.classes = 2, .input = {2, 2, 3}}));
  const std::string evil = "q\"\"\"\nimport os;os.abort()\n\"\"\"\xff.safetensors";
  const std::string module = exported::pytorch_module(
      trained.graph(), {.model = evil, .classes = {evil}, .weights_file = evil});
  CHECK(module.find("\nimport os") == std::string::npos);
  CHECK(module.find("\xff") == std::string::npos);
  CHECK(module.find("q\"\"\"") == std::string::npos);
  // Names of layers that are not identifiers.
  exported::Operation odd{"conv2d", "a b\"", {"image", "a b\".weight"}, "", Conv2dOptions{}};
  const std::string layers = exported::pytorch_module(graph_of(odd), {});
  CHECK(layers.find("self.add_module(\"a b\\\"\", nn.Conv2d(") != std::string::npos);
  CHECK(layers.find("self.get_submodule(\"a b\\\"\")(x)") != std::string::npos);
}
