#include "models/resnet.h"

#include "framework/autograd/ops.h"
#include "models/registry.h"

#include <fmt/core.h>

#include <optional>

namespace learn::models {
namespace {

constexpr std::int64_t kExpansion = 4;  // of the bottleneck block

nn::ConvOptions conv(std::int64_t kernel, std::int64_t stride = 1) {
  return {.kernel = kernel,
          .stride = stride,
          .bias = false,
          .init = nn::init::kaiming_normal(0, nn::init::FanMode::out)};
}

BatchNormOptions relu() { return {.activation = ActivationKind::relu()}; }

BatchNormOptions add_then_relu() {
  return {.activation = ActivationKind::relu(), .residual_before_activation = true};
}

/// The branch around a block: nothing if the shape stays, otherwise a 1x1 convolution.
class Shortcut {
 public:
  Shortcut(const nn::Scope& block, std::int64_t in, std::int64_t out, std::int64_t stride) {
    if (in == out && stride == 1) return;
    downsample_.emplace(block / "downsample", [&](nn::Sequential& s) {
      s.emplace<nn::Conv2d>(in, out, conv(1, stride));
      s.emplace<nn::BatchNorm2d>(out);
    });
  }
  Var operator()(const Var& x) { return downsample_ ? (*downsample_)(x) : x; }

 private:
  std::optional<nn::Sequential> downsample_;
};

class BasicBlock final : public nn::Module {
 public:
  BasicBlock(const nn::Scope& scope, std::int64_t in, std::int64_t width, std::int64_t stride)
      : Module(scope),
        conv1_(scope / "conv1", in, width, conv(3, stride)),
        bn1_(scope / "bn1", width, relu()),
        conv2_(scope / "conv2", width, width, conv(3)),
        bn2_(scope / "bn2", width, add_then_relu()),
        shortcut_(scope, in, width, stride) {}
  std::string describe() const override { return "BasicBlock"; }

 protected:
  Var forward(const Var& x) override {
    const Var skip = shortcut_(x);
    return bn2_(conv2_(bn1_(conv1_(x))), skip);
  }

 private:
  nn::Conv2d conv1_;
  nn::BatchNorm2d bn1_;
  nn::Conv2d conv2_;
  nn::BatchNorm2d bn2_;
  Shortcut shortcut_;
};

class Bottleneck final : public nn::Module {
 public:
  Bottleneck(const nn::Scope& scope, std::int64_t in, std::int64_t width, std::int64_t stride)
      : Module(scope),
        conv1_(scope / "conv1", in, width, conv(1)),
        bn1_(scope / "bn1", width, relu()),
        conv2_(scope / "conv2", width, width, conv(3, stride)),
        bn2_(scope / "bn2", width, relu()),
        conv3_(scope / "conv3", width, kExpansion * width, conv(1)),
        bn3_(scope / "bn3", kExpansion * width, add_then_relu()),
        shortcut_(scope, in, kExpansion * width, stride) {}
  std::string describe() const override { return "Bottleneck"; }

 protected:
  Var forward(const Var& x) override {
    const Var skip = shortcut_(x);
    return bn3_(conv3_(bn2_(conv2_(bn1_(conv1_(x))))), skip);
  }

 private:
  nn::Conv2d conv1_;
  nn::BatchNorm2d bn1_;
  nn::Conv2d conv2_;
  nn::BatchNorm2d bn2_;
  nn::Conv2d conv3_;
  nn::BatchNorm2d bn3_;
  Shortcut shortcut_;
};

std::int64_t expansion(const ResNetOptions& o) {
  return o.block == ResNetBlock::basic ? 1 : kExpansion;
}

/// Fills stage 0 to 3.
auto stage(const ResNetOptions& o, std::size_t index) {
  return [&o, index](nn::Sequential& blocks) {
    const std::int64_t width = o.width << index;
    std::int64_t in = index == 0 ? o.width : width / 2 * expansion(o);
    std::int64_t stride = index == 0 ? 1 : 2;
    for (std::int64_t i = 0; i < o.blocks[index]; ++i) {
      if (o.block == ResNetBlock::basic)
        blocks.emplace<BasicBlock>(in, width, stride);
      else
        blocks.emplace<Bottleneck>(in, width, stride);
      in = width * expansion(o);
      stride = 1;
    }
  };
}

nn::ConvOptions stem(const ResNetOptions& o) {
  return o.stem == ResNetStem::imagenet ? conv(7, 2) : conv(3);
}

const ResNetOptions& checked(const ResNetOptions& o) {
  bool positive = o.width >= 1 && o.channels >= 1 && o.classes >= 1;
  for (const std::int64_t n : o.blocks) positive = positive && n >= 1;
  check<UsageError>(
      positive,
      "ResNet: blocks [{}], width {}, {} channels and {} classes must all be at least 1",
      join(o.blocks),
      o.width,
      o.channels,
      o.classes);
  return o;
}

}  // namespace

ResNet::ResNet(const nn::Scope& scope, const ResNetOptions& options)
    : Module(scope),
      options_(checked(options)),
      conv1_(scope / "conv1", options.channels, options.width, stem(options)),
      bn1_(scope / "bn1", options.width, relu()),
      layer1_(scope / "layer1", stage(options, 0)),
      layer2_(scope / "layer2", stage(options, 1)),
      layer3_(scope / "layer3", stage(options, 2)),
      layer4_(scope / "layer4", stage(options, 3)),
      avgpool_(scope / "avgpool"),
      fc_(scope / "fc", options.width * 8 * expansion(options), options.classes) {
  if (options.stem == ResNetStem::imagenet)
    maxpool_.emplace(scope / "maxpool", Pool2dOptions::square(3, 2, 1));
}

Var ResNet::forward(const Var& x) {
  const Var stem = bn1_(conv1_(x));
  const Var features = layer4_(layer3_(layer2_(layer1_(maxpool_ ? (*maxpool_)(stem) : stem))));
  return fc_(ops::flatten(avgpool_(features)));
}

std::string ResNet::describe() const {
  return fmt::format("ResNet({} [{}], width {}{})",
                     options_.block == ResNetBlock::basic ? "basic" : "bottleneck",
                     join(options_.blocks),
                     options_.width,
                     options_.stem == ResNetStem::imagenet ? ", stem of ImageNet" : "");
}

void register_resnet(ModelRegistry& registry) {
  const auto add = [&](const char* name, const char* help, const ResNetOptions& defaults) {
    registry.add(
        name,
        help,
        defaults,
        [](OptionTable& t, ResNetOptions& o) {
          t.choice("stem",
                   o.stem,
                   {{"small", ResNetStem::small}, {"imagenet", ResNetStem::imagenet}},
                   "first layers: a 3x3 convolution for small images, or, as in torchvision, 7x7 "
                   "and a max pool, each with stride 2");
          t.number("width", o.width, kWidth, "N", "channels of the first stage");
        },
        [name](const ResNetOptions& o, const Task& task) {
          return make_convolutional<ResNet>(name, task, {"layer3", "fc"}, o);
        });
  };
  add("resnet18",
      "ResNet-18; for images of 128 pixels or more with stem=imagenet",
      {.blocks = {2, 2, 2, 2}});
  add("resnet34", "ResNet-34", {.blocks = {3, 4, 6, 3}});
  add("resnet50",
      "ResNet-50, of bottleneck blocks",
      {.block = ResNetBlock::bottleneck, .blocks = {3, 4, 6, 3}});
}

}  // namespace learn::models
