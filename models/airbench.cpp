#include "models/airbench.h"

#include "framework/autograd/ops.h"
#include "models/registry.h"

#include <fmt/core.h>

#include <algorithm>

namespace learn::models {
namespace {

constexpr std::int64_t kWindow = 2;  // of the first convolution
constexpr double kLogitScale = 1.0 / 9;

const AirbenchOptions& checked(const AirbenchOptions& o) {
  check<UsageError>(std::ranges::min(o.widths) >= 1 && o.channels >= 1 && o.classes >= 1,
                    "airbench: widths {}, {} and {}, {} channels and {} classes must be at least 1",
                    o.widths[0],
                    o.widths[1],
                    o.widths[2],
                    o.channels,
                    o.classes);
  return o;
}

std::int64_t filters_of(const AirbenchOptions& o) { return 2 * kWindow * kWindow * o.channels; }

nn::ConvOptions convolution() {
  return {.bias = false, .init = nn::init::dirac_first(nn::init::default_weight())};
}

BatchNormOptions normalization(float momentum) {
  return {.eps = 1e-12F,
          .momentum = momentum,
          .activation = ActivationKind::gelu(),
          .residual_before_activation = true};
}

}  // namespace

Airbench::Layer::Layer(const nn::Scope& scope, std::int64_t in, std::int64_t out, bool residual)
    : Module(scope),
      conv1_(scope / "conv1", in, out, convolution()),
      pool_(scope / "pool", 2),
      norm1_(scope / "norm1", out, normalization(residual ? 0.1F : 0.4F)),
      conv2_(scope / "conv2", out, out, convolution()),
      norm2_(scope / "norm2", out, normalization(residual ? 0.1F : 0.4F)) {
  if (residual) {
    conv3_.emplace(scope / "conv3", out, out, convolution());
    norm3_.emplace(scope / "norm3", out, normalization(0.1F));
  }
  for (const char* const norm : {"norm1", "norm2", "norm3"})
    if (residual || norm[4] != '3') scope.store().fix((scope / norm / "weight").path());
}

Var Airbench::Layer::forward(const Var& x) {
  const Var first = norm1_(pool_(conv1_(x)));
  const Var second = norm2_(conv2_(first));
  return conv3_ ? (*norm3_)((*conv3_)(second), first) : second;
}

Airbench::Airbench(const nn::Scope& scope, const AirbenchOptions& options)
    : Module(scope),
      options_(checked(options)),
      whiten_(
          scope / "whiten", options.channels, filters_of(options), {.kernel = kWindow, .pad = 0}),
      gelu_(scope / "gelu", ActivationKind::gelu()),
      layer1_(scope / "layer1", filters_of(options), options.widths[0], options.residual),
      layer2_(scope / "layer2", options.widths[0], options.widths[1], options.residual),
      layer3_(scope / "layer3", options.widths[1], options.widths[2], options.residual),
      pool_(scope / "pool"),
      linear_(scope / "linear", options.widths[2], options.classes, {.bias = false}) {
  scope.store().fix((scope / "whiten" / "weight").path());
}

Var Airbench::forward(const Var& x) {
  const Var features = layer3_(layer2_(layer1_(gelu_(whiten_(x)))));
  return ops::scale(linear_(ops::flatten(pool_(features))), kLogitScale);
}

std::string Airbench::describe() const {
  return fmt::format("Airbench({}, {}, {}{})",
                     options_.widths[0],
                     options_.widths[1],
                     options_.widths[2],
                     options_.residual ? ", residual" : "");
}

void register_airbench(ModelRegistry& registry) {
  const auto add = [&](const char* name, const char* help, const AirbenchOptions& usual) {
    registry.add(
        name,
        help,
        usual.widths[0],
        [](OptionTable& t, std::int64_t& width) {
          t.number(
              "width", width, kWidth, "N", "channels of the first layer; others in proportion");
        },
        [name, usual](std::int64_t width, const Task& task) {
          constexpr std::int64_t kSmallest = 9;  // 8 after the first convolution, then three pools
          check_images(name, task.input, kSmallest);
          AirbenchOptions options = usual;
          for (std::int64_t& channels : options.widths)
            channels = std::max<std::int64_t>(1, channels * width / usual.widths[0]);
          return make_convolutional<Airbench>(name, task, {"layer2", "linear"}, options);
        });
  };
  add("airbench94", "the net of airbench's 94 % record on CIFAR-10", {});
  add("airbench95", "the same with more channels, of its 95 % record", {.widths = {128, 384, 384}});
  add("airbench96",
      "the same with nine convolutions and residuals, of its 96 % record",
      {.widths = {128, 384, 512}, .residual = true});
}

}  // namespace learn::models
