#include "models/registry.h"

#include "models/airbench.h"
#include "models/darknet.h"
#include "models/mlp.h"
#include "models/mobilenet_v2.h"
#include "models/resnet.h"
#include "models/resnet9.h"
#include "models/wide_resnet.h"

#include <doctest/doctest.h>

#include <vector>

using namespace learn;
using models::make_model;
using models::Task;

namespace {

std::int64_t parameters(const char* spec, const Task& task = {}) {
  return make_model(spec, task).params->parameter_count();
}

}  // namespace

// Sources of the counts: fastai's notebook and release for darknet and wrn_22; the widely used
// CIFAR ResNets of PyTorch for resnet18/34/50; torchvision for 1000 classes; the rest by hand.
TEST_CASE("parameter counts of all models") {
  CHECK(parameters("darknet", {.classes = 2}) == 5'067'378);
  CHECK(parameters("resnet18") == 11'173'962);
  CHECK(parameters("resnet34") == 21'282'122);
  CHECK(parameters("resnet50") == 23'520'842);
  CHECK(parameters("resnet18:stem=imagenet", {.classes = 1000}) == 11'689'512);
  CHECK(parameters("resnet50:stem=imagenet", {.classes = 1000}) == 25'557'032);
  CHECK(parameters("mobilenet_v2", {.classes = 1000}) == 3'504'872);
  CHECK(parameters("mobilenet_v2:width=1.4,stem=imagenet", {.classes = 1000}) == 6'108'776);
  CHECK(parameters("resnet9") == 6'573'120);
  CHECK(parameters("wrn_22") == 9'658'458);
  CHECK(parameters("linear") == 32 * 32 * 3 * 10 + 10);
  CHECK(parameters("mlp") == 3072 * 512 + 512 + 512 * 512 + 512 + 5120 + 10);
  // A length for each unit and class more.
  CHECK(parameters("mlp:weight_norm=true") == parameters("mlp") + 512 + 512 + 10);
  CHECK(parameters("linear", {.classes = 7, .input = {5, 4, 1}}) == 20 * 7 + 7);
  // The widths of ResNet-9: convolutions grow with the square.
  CHECK(parameters("small") == parameters("resnet9:width=16"));
}

TEST_CASE("the notebook's layer groups of Darknet, with a head that has no BatchNorm") {
  const nn::Model model = make_model("darknet", {.classes = 2});
  nn::ParamStore& store = *model.params;
  store.set_layer_groups(model.split);
  REQUIRE(store.layer_groups() == 3);
  std::int64_t plain[3] = {};
  std::int64_t norm[3] = {};
  for (std::int64_t i = 0; i < store.size(); ++i) {
    const nn::ParamInfo& info = store.info(i);
    (nn::is_norm(info.role) ? norm : plain)[info.layer_group] += info.shape.elements();
  }
  CHECK(plain[0] == 307'120);
  CHECK(norm[0] == 1'728);
  CHECK(plain[1] == 4'751'360);
  CHECK(norm[1] == 6'144);
  CHECK(plain[2] == 1'026);
  CHECK(norm[2] == 0);
}

TEST_CASE("every model can be split at its default groups") {
  const auto registry = models::model_registry();
  for (const std::string& name : registry.names()) {
    CAPTURE(name);
    CHECK(!registry.help(name).empty());
    const nn::Model model = make_model(name);
    CHECK(model.name == name);
    CHECK(!model.module->describe().empty());
    model.params->set_layer_groups(model.split);
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(model.params->layer_groups()));
    for (std::int64_t i = 0; i < model.params->size(); ++i)
      ++sizes[static_cast<std::size_t>(model.params->info(i).layer_group)];
    for (const std::int64_t size : sizes) CHECK(size > 0);
  }
}

TEST_CASE("parameters have PyTorch's names") {
  const auto has = [](const char* model, const char* name) {
    INFO(model, " ", name);
    CHECK(make_model(model).params->find(name) >= 0);
  };
  has("darknet", "layers.0.0.weight");
  has("darknet", "layers.0.1.bias");
  has("darknet", "layers.14.conv2.0.weight");
  has("darknet", "layers.17.bias");
  has("resnet18", "layer1.0.conv1.weight");
  has("resnet18", "layer2.0.downsample.0.weight");
  has("resnet18", "layer4.1.bn2.bias");
  has("resnet50", "layer1.0.downsample.1.weight");
  has("resnet50", "layer4.2.conv3.weight");
  has("mobilenet_v2", "features.0.0.weight");
  has("mobilenet_v2", "features.1.conv.2.bias");
  has("mobilenet_v2", "features.17.conv.1.0.weight");
  has("mobilenet_v2", "features.18.1.weight");
  has("mobilenet_v2", "classifier.1.bias");
  has("resnet9", "layer3.residual.res2.bn.weight");
  has("resnet9", "linear.weight");
  has("wrn_22", "features.1.conv2.2.weight");
  has("wrn_22", "features.4.shortcut.weight");
}

TEST_CASE("a Darknet with weight norm has lengths, directions and biases, and no norms") {
  const nn::Model model = make_model("darknet:weight_norm=true");
  const nn::ParamStore& store = *model.params;
  CHECK(store.find("layers.0.0.weight_g") >= 0);
  CHECK(store.find("layers.14.conv2.0.weight_v") >= 0);
  CHECK(store.find("layers.14.conv2.0.bias") >= 0);
  for (std::int64_t i = 0; i < store.size(); ++i) CHECK(!nn::is_norm(store.info(i).role));
  CHECK(store.buffer_count() == 0);
  // The convolutions' lengths and biases are as many as the norms' weights and biases.
  CHECK(store.parameter_count() == parameters("darknet"));
}

TEST_CASE("a model is made for the samples and classes of its data") {
  class Source final : public BatchSource {
   public:
    Source(const Shape& sample, int classes) : sample_(sample), classes_(classes) {}
    [[nodiscard]] std::int64_t batches() const override { return 0; }
    [[nodiscard]] std::int64_t samples() const override { return 0; }
    [[nodiscard]] Shape sample_shape() const override { return sample_; }
    [[nodiscard]] int classes() const override { return classes_; }
    void begin(std::int64_t) override {}
    [[nodiscard]] bool next(Batch&) override { return false; }

   private:
    Shape sample_;
    int classes_;
  };
  Source images({24, 40, 3}, 7);
  const nn::Model model = make_model("small:width=8", images);
  CHECK(model.input == Shape{24, 40, 3});
  CHECK(model.classes == 7);
  CHECK(model.params->parameter_count() == parameters("small:width=8", {.classes = 7}));
  Source features({13}, 1);
  CHECK(make_model("mlp:width=8", features).params->parameter_count() == 13 * 8 + 8 + 72 + 9);
  CHECK(make_model("linear", features).params->parameter_count() == 14);
  Source unknown({}, 0);
  CHECK_THROWS_WITH_AS(
      (void)make_model("small", unknown), doctest::Contains("needs the shape"), UsageError);
}

TEST_CASE("options that a model does not use are refused") {
  const auto refused = [](const char* spec, const Task& task, const char* text) {
    CAPTURE(spec);
    CHECK_THROWS_WITH_AS((void)make_model(spec, task), doctest::Contains(text), UsageError);
  };
  refused("resnet10", {}, "unknown model 'resnet10'; did you mean 'resnet18'? (known: airbench");
  refused("linear:width=3", {}, "linear has no option 'width'; it has: none");
  refused("resnet18:dropout=0.5", {}, "resnet18 has no option 'dropout'; it has: stem, width");
  refused("mobilenet_v2:width=9", {}, "9 is not in [0.05, 8]");
  refused("mobilenet_v2:stem=large", {}, "small, imagenet");
  refused("resnet9", {.input = {7, 32, 3}}, "at least 8x8, but these are 7x32");
  refused("resnet9", {.input = {13}}, "takes images (H,W,C), not (13)");
  refused("airbench94", {.input = {32, 8, 3}}, "at least 9x9, but these are 32x8");
  refused("darknet", {.input = {13}}, "takes images (H,W,C), not (13); 'mlp' and 'linear' take");
  refused("mlp", {.input = {0}}, "cannot take samples of shape (0)");
  refused("mlp:dropout=1", {}, "[0, 1)");
  refused("darknet", {.classes = 0}, "0 classes");
  refused("darknet:width=-4", {}, "-4 is not in [1, 65536]");
  for (const char* const model : {"darknet", "mlp", "resnet18", "resnet9", "small", "wrn_22"})
    refused(fmt::format("{}:width=1000000000", model).c_str(), {}, "is not in [1, 65536]");
}

TEST_CASE("each model refuses impossible sizes") {
  const auto refused = [](auto make, const char* text) {
    CHECK_THROWS_WITH_AS(make(), doctest::Contains(text), UsageError);
  };
  using namespace models;
  const Shape image{32, 32, 3};
  refused([&] { (void)nn::make_model<Airbench>("m", image, 10, AirbenchOptions{.channels = 0}); },
          "airbench: widths 64, 256 and 256, 0 channels and 10 classes must be at least 1");
  refused(
      [&] {
        (void)nn::make_model<Darknet>("m", image, 10, DarknetOptions{.blocks = {1, 0}});
      },
      "Darknet: blocks [1,0], width 16 and 10 classes must be at least 1");
  refused([&] { (void)nn::make_model<Mlp>("m", image, 10, image, MlpOptions{.width = 0}); },
          "Mlp: 2 hidden layers of width 0 and 10 classes are not possible");
  refused(
      [&] { (void)nn::make_model<MobileNetV2>("m", image, 10, MobileNetV2Options{.width = 0}); },
      "MobileNetV2: width 0 must be positive, and 3 channels and 10 classes at least 1");
  refused([&] { (void)nn::make_model<ResNet>("m", image, 10, ResNetOptions{.width = 0}); },
          "ResNet: blocks [2,2,2,2], width 0, 3 channels and 10 classes must all be at least 1");
  refused([&] { (void)nn::make_model<ResNet9>("m", image, 10, ResNet9Options{.channels = 0}); },
          "ResNet9: width 64, 0 channels and 10 classes must be at least 1");
  refused([&] { (void)nn::make_model<WideResNet>("m", image, 10, WideResNetOptions{.blocks = 0}); },
          "WideResNet: 3 groups of 0 blocks, widening 6, start 16, 3 channels and 10 classes must "
          "all be at least 1");
}
