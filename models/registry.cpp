#include "models/registry.h"

#include "models/darknet.h"
#include "models/mlp.h"
#include "models/resnet.h"
#include "models/resnet9.h"
#include "models/wide_resnet.h"

#include <array>
#include <string>
#include <utility>

namespace learn::models {
namespace {

std::int64_t width_or(const ModelOptions& o, std::int64_t usual) {
  return o.width == 0 ? usual : o.width;
}

void refuse_width(std::string_view name, const ModelOptions& o) {
  if (o.width != 0)
    fail<UsageError>("model '{}' has no width to set, {} was asked for", name, o.width);
}

void refuse_dropout(std::string_view name, const ModelOptions& o) {
  if (o.dropout != 0)
    fail<UsageError>("model '{}' has no dropout, {} was asked for", name, o.dropout);
}

void check_options(std::string_view name, const ModelOptions& o) {
  const Shape& in = o.input;
  if (in.rank() != 3 || in.elements() < 1)
    fail<UsageError>("model '{}' takes pictures (H,W,C), not {}", name, in);
  if (o.classes < 1) fail<UsageError>("model '{}' cannot have {} classes", name, o.classes);
  if (o.width < 0) fail<UsageError>("model '{}' cannot have the width {}", name, o.width);
  if (!(o.dropout >= 0 && o.dropout < 1))
    fail<UsageError>("dropout {} is not in [0, 1)", o.dropout);
}

/// `M`, which begins with a convolution, from its own options, which know the channels and classes
/// already.
template <class M, class... Args>
nn::Model build(std::string_view name,
                const ModelOptions& o,
                std::vector<std::string> split,
                const Args&... args) {
  nn::Model model = nn::make_model<M>(std::string(name), o.input, o.classes, args...);
  model.split = std::move(split);
  model.takes_padding = true;
  return model;
}

nn::Model darknet(const ModelOptions& o) {
  refuse_dropout("darknet", o);
  return build<Darknet>(
      "darknet",
      o,
      {"layers.9", "layers.15"},
      DarknetOptions{.width = width_or(o, 16), .channels = o.input[2], .classes = o.classes});
}

/// A factory of the ResNet `name`.
ModelFactory resnet(std::string name, ResNetBlock block, std::array<std::int64_t, 4> blocks) {
  return [name = std::move(name), block, blocks](const ModelOptions& o) {
    refuse_dropout(name, o);
    const ResNetOptions own{.block = block,
                            .blocks = blocks,
                            .width = width_or(o, 64),
                            .channels = o.input[2],
                            .classes = o.classes};
    return build<ResNet>(name, o, {"layer3", "fc"}, own);
  };
}

nn::Model resnet9(std::string_view name, std::int64_t width, const ModelOptions& o) {
  refuse_dropout(name, o);
  constexpr std::int64_t kSmallest = 8;  // three max pools halve the picture
  if (o.input[0] < kSmallest || o.input[1] < kSmallest)
    fail<UsageError>("model '{}' needs pictures of at least {}x{}, these are {}x{}",
                     name,
                     kSmallest,
                     kSmallest,
                     o.input[0],
                     o.input[1]);
  return build<ResNet9>(
      name,
      o,
      {"layer2", "linear"},
      ResNet9Options{.width = width_or(o, width), .channels = o.input[2], .classes = o.classes});
}

nn::Model wrn_22(const ModelOptions& o) {
  WideResNetOptions own;
  own.widen = width_or(o, own.widen);
  own.dropout = o.dropout;
  own.channels = o.input[2];
  own.classes = o.classes;
  return build<WideResNet>("wrn_22", o, {"features.4", "features.14"}, own);
}

nn::Model linear(const ModelOptions& o) {
  refuse_width("linear", o);
  refuse_dropout("linear", o);
  const MlpOptions own{.hidden_layers = 0, .classes = o.classes};
  return nn::make_model<Mlp>("linear", o.input, o.classes, o.input, own);
}

nn::Model mlp(const ModelOptions& o) {
  const MlpOptions own{.width = width_or(o, 512), .dropout = o.dropout, .classes = o.classes};
  return nn::make_model<Mlp>("mlp", o.input, o.classes, o.input, own);
}

}  // namespace

Registry<ModelFactory> model_registry() {
  Registry<ModelFactory> models("model");
  models.add("darknet",
             "fastai's notebook Darknet, groups of 1,2,2,2,2 blocks; width = channels of the stem "
             "(16)",
             darknet);
  models.add("resnet18",
             "ResNet-18 for small pictures; width = channels of the first stage (64)",
             resnet("resnet18", ResNetBlock::basic, {2, 2, 2, 2}));
  models.add("resnet34",
             "ResNet-34 for small pictures; width = channels of the first stage (64)",
             resnet("resnet34", ResNetBlock::basic, {3, 4, 6, 3}));
  models.add("resnet50",
             "ResNet-50 (bottleneck) for small pictures; width = channels of the first stage (64)",
             resnet("resnet50", ResNetBlock::bottleneck, {3, 4, 6, 3}));
  models.add("resnet9",
             "ResNet-9 of the DAWNBench entries; width = channels of the first layer (64)",
             [](const ModelOptions& o) { return resnet9("resnet9", 64, o); });
  models.add("small",
             "ResNet-9 of width 16, for two CPU cores; width = channels of the first layer (16)",
             [](const ModelOptions& o) { return resnet9("small", 16, o); });
  models.add("wrn_22",
             "fastai's wide ResNet of 22 layers; width = widening factor (6); has dropout",
             wrn_22);
  models.add("mlp",
             "two hidden layers with relu; width = units of a hidden layer (512); has dropout",
             mlp);
  models.add(
      "linear", "logistic regression on the pixels: the baseline every model must beat", linear);
  return models;
}

nn::Model make_model(std::string_view name, const ModelOptions& options) {
  const Registry<ModelFactory> models = model_registry();
  const ModelFactory& factory = models.at(name).value;
  check_options(name, options);
  return factory(options);
}

nn::Model make_model(std::string_view name, const BatchSources& data, ModelOptions options) {
  options.input = data.train->sample_shape();
  options.classes = data.train->classes();
  check<UsageError>(options.input.rank() > 0 && options.classes > 0,
                    "model '{}' cannot be made for data that do not say the shape of a sample and "
                    "the number of classes: give ModelOptions",
                    name);
  return make_model(name, options);
}

}  // namespace learn::models
