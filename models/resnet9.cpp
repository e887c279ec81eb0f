#include "models/resnet9.h"

#include "framework/autograd/ops.h"
#include "models/registry.h"

#include <fmt/core.h>

namespace learn::models {
namespace {

constexpr double kLogitScale = 0.125;  // Page's: keeps the logits small at the start

const ResNet9Options& checked(const ResNet9Options& o) {
  check<UsageError>(o.width >= 1 && o.channels >= 1 && o.classes >= 1,
                    "ResNet9: width {}, {} channels and {} classes must be at least 1",
                    o.width,
                    o.channels,
                    o.classes);
  return o;
}

}  // namespace

ResNet9::Residual::Residual(const nn::Scope& scope, std::int64_t channels)
    : Module(scope),
      res1_(scope / "res1", channels, channels),
      res2_(scope / "res2", channels, channels) {}

ResNet9::Layer::Layer(const nn::Scope& scope, std::int64_t in, bool residual)
    : Module(scope),
      conv_(scope / "conv", in, 2 * in, {.bias = false}),
      bn_(scope / "bn", 2 * in, {.activation = ActivationKind::relu()}),
      pool_(scope / "pool", 2) {
  if (residual) residual_.emplace(scope / "residual", 2 * in);
}

Var ResNet9::Layer::forward(const Var& x) {
  const Var y = pool_(bn_(conv_(x)));
  return residual_ ? (*residual_)(y) : y;
}

ResNet9::ResNet9(const nn::Scope& scope, const ResNet9Options& options)
    : Module(scope),
      options_(checked(options)),
      prep_(scope / "prep", options.channels, options.width),
      layer1_(scope / "layer1", options.width, true),
      layer2_(scope / "layer2", 2 * options.width, false),
      layer3_(scope / "layer3", 4 * options.width, true),
      pool_(scope / "pool"),
      linear_(scope / "linear", 8 * options.width, options.classes, {.bias = false}) {}

Var ResNet9::forward(const Var& x) {
  const Var features = layer3_(layer2_(layer1_(prep_(x))));
  return ops::scale(linear_(ops::flatten(pool_(features))), kLogitScale);
}

std::string ResNet9::describe() const { return fmt::format("ResNet9(width {})", options_.width); }

void register_resnet9(ModelRegistry& registry) {
  const auto add = [&](const char* name, const char* help, std::int64_t width) {
    registry.add(
        name,
        help,
        ResNet9Options{.width = width},
        [](OptionTable& t, ResNet9Options& o) {
          t.number("width", o.width, kWidth, "N", "channels of the first layer");
        },
        [name](const ResNet9Options& o, const Task& task) {
          constexpr std::int64_t kSmallest = 8;  // three max pools halve the image
          check_images(name, task.input, kSmallest);
          return make_convolutional<ResNet9>(name, task, {"layer2", "linear"}, o);
        });
  };
  add("resnet9", "ResNet-9 of the DAWNBench entries", 64);
  add("small", "ResNet-9 of width 16, for two CPU cores", 16);
}

}  // namespace learn::models
