#include "models/darknet.h"

#include "framework/nn/layers.h"
#include "models/registry.h"

#include <fmt/core.h>

#include <algorithm>

namespace learn::models {
namespace {

using nn::ConvBnAct;
using nn::ConvBnActOptions;

/// The notebook's conv_layer: an nn.Sequential of convolution "0", BatchNorm "1", leaky relu; with
/// weight norm fastai's, which has no BatchNorm then, and so needs initial values that keep the
/// variance.
ConvBnActOptions conv_layer(std::int64_t kernel, std::int64_t stride, bool weight_norm) {
  return {.kernel = kernel,
          .stride = stride,
          .activation = ActivationKind::leaky_relu(0.1F),
          .weight_norm = weight_norm,
          .conv_init = weight_norm ? nn::init::kaiming_normal(0.1) : nn::init::default_weight(),
          .conv_name = "0",
          .norm_name = "1"};
}

/// x + conv3x3(conv1x1(x)), through half the channels; the sum is fused into the last BatchNorm.
class ResLayer final : public nn::Module {
 public:
  ResLayer(const nn::Scope& scope, std::int64_t channels, bool weight_norm)
      : Module(scope),
        conv1_(scope / "conv1", channels, channels / 2, conv_layer(1, 1, weight_norm)),
        conv2_(scope / "conv2", channels / 2, channels, conv_layer(3, 1, weight_norm)) {}
  std::string describe() const override { return "ResLayer"; }

 protected:
  Var forward(const Var& x) override { return conv2_(conv1_(x), x); }

 private:
  ConvBnAct conv1_, conv2_;
};

}  // namespace

Darknet::Darknet(const nn::Scope& scope, const DarknetOptions& options)
    : Module(scope), options_(options), layers_(scope / "layers") {
  const bool positive = std::ranges::all_of(options.blocks, [](std::int64_t b) { return b >= 1; });
  check<UsageError>(
      !options.blocks.empty() && positive && options.width >= 1 && options.classes >= 1,
      "Darknet: blocks [{}], width {} and {} classes must be at least 1",
      join(options.blocks),
      options.width,
      options.classes);
  std::int64_t width = options.width;
  const bool weight_norm = options.weight_norm;
  layers_.emplace<ConvBnAct>(options.channels, width, conv_layer(3, 1, weight_norm));
  for (std::size_t group = 0; group < options.blocks.size(); ++group) {
    layers_.emplace<ConvBnAct>(width, 2 * width, conv_layer(3, group == 1 ? 1 : 2, weight_norm));
    width *= 2;
    for (std::int64_t i = 0; i < options.blocks[group]; ++i)
      layers_.emplace<ResLayer>(width, weight_norm);
  }
  layers_.emplace<nn::GlobalAvgPool>();
  layers_.emplace<nn::Flatten>();
  layers_.emplace<nn::Linear>(width, options.classes);
}

std::string Darknet::describe() const {
  return fmt::format("Darknet([{}], width {})", join(options_.blocks), options_.width);
}

void register_darknet(ModelRegistry& registry) {
  registry.add(
      "darknet",
      "fastai's notebook Darknet, groups of 1,2,2,2,2 blocks",
      DarknetOptions{},
      [](OptionTable& t, DarknetOptions& o) {
        t.number("width", o.width, kWidth, "N", "channels of the stem");
        t.flag("weight_norm", o.weight_norm, "weight norm and biases instead of BatchNorm");
      },
      [](const DarknetOptions& o, const Task& task) {
        return make_convolutional<Darknet>("darknet", task, {"layers.9", "layers.15"}, o);
      });
}

}  // namespace learn::models
