#include "models/mobilenet_v2.h"

#include "framework/autograd/ops.h"
#include "framework/nn/layers/conv_bn_act.h"
#include "framework/nn/layers/pool.h"
#include "models/registry.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

namespace learn::models {
namespace {

using nn::ConvBnAct;

/// Blocks of one size: the channels inside are `expansion` times as many as before it.
struct Stage {
  std::int64_t expansion, channels, blocks, stride;
};
constexpr std::array kStages{Stage{1, 16, 1, 1},
                             Stage{6, 24, 2, 2},
                             Stage{6, 32, 3, 2},
                             Stage{6, 64, 4, 2},
                             Stage{6, 96, 3, 1},
                             Stage{6, 160, 3, 2},
                             Stage{6, 320, 1, 1}};
constexpr std::int64_t kStem = 32;
constexpr std::int64_t kFeatures = 1280;

/// The multiple of 8 nearest to channels * width, but not less than nine tenths of it
/// (torchvision's _make_divisible).
std::int64_t scaled(std::int64_t channels, double width) {
  const double wanted = static_cast<double>(channels) * width;
  const std::int64_t nearest =
      std::max<std::int64_t>(8, static_cast<std::int64_t>(wanted + 4) / 8 * 8);
  return static_cast<double>(nearest) < 0.9 * wanted ? nearest + 8 : nearest;
}

nn::Init fan_out() { return nn::init::kaiming_normal(0, nn::init::FanMode::out); }

/// torchvision's Conv2dNormActivation: convolution "0", BatchNorm "1", relu6.
nn::ConvBnActOptions layer(std::int64_t kernel, std::int64_t stride = 1, std::int64_t groups = 1) {
  return {.kernel = kernel,
          .stride = stride,
          .groups = groups,
          .activation = ActivationKind::relu6(),
          .conv_init = fan_out(),
          .conv_name = "0",
          .norm_name = "1"};
}

/// 1x1 to more channels unless these stay as many, 3x3 for each channel, and 1x1 to `out` channels
/// without activation; plus x if the shape stays.
class InvertedResidual final : public nn::Module {
 public:
  InvertedResidual(const nn::Scope& scope,
                   std::int64_t in,
                   std::int64_t out,
                   std::int64_t stride,
                   std::int64_t expansion)
      : Module(scope), with_sum_(stride == 1 && in == out) {
    const nn::Scope conv = scope / "conv";
    const std::int64_t inner = in * expansion;
    int next = 0;
    if (expansion > 1) expand_.emplace(conv / next++, in, inner, layer(1));
    depthwise_.emplace(conv / next++, inner, inner, layer(3, stride, inner));
    project_.emplace(
        conv / next++, inner, out, nn::ConvOptions{.kernel = 1, .bias = false, .init = fan_out()});
    norm_.emplace(conv / next, out);
  }
  std::string describe() const override { return "InvertedResidual"; }

 protected:
  Var forward(const Var& x) override {
    const Var y = (*project_)((*depthwise_)(expand_ ? (*expand_)(x) : x));
    return with_sum_ ? (*norm_)(y, x) : (*norm_)(y);
  }

 private:
  bool with_sum_;
  std::optional<ConvBnAct> expand_, depthwise_;
  std::optional<nn::Conv2d> project_;
  std::optional<nn::BatchNorm2d> norm_;
};

std::int64_t features_of(const MobileNetV2Options& o) {
  return scaled(kFeatures, std::max(1.0, o.width));
}

const MobileNetV2Options& checked(const MobileNetV2Options& o) {
  check<UsageError>(
      o.width > 0 && o.channels >= 1 && o.classes >= 1,
      "MobileNetV2: width {} must be positive, and {} channels and {} classes at least 1",
      o.width,
      o.channels,
      o.classes);
  return o;
}

}  // namespace

MobileNetV2::MobileNetV2(const nn::Scope& scope, const MobileNetV2Options& options)
    : Module(scope),
      options_(checked(options)),
      features_(scope / "features",
                [&](nn::Sequential& s) {
                  std::int64_t in = scaled(kStem, options.width);
                  s.emplace<ConvBnAct>(options.channels, in, layer(3, options.small ? 1 : 2));
                  for (const Stage& stage : kStages) {
                    const std::int64_t out = scaled(stage.channels, options.width);
                    const bool keeps_size = options.small && &stage == &kStages[1];
                    for (std::int64_t i = 0; i < stage.blocks; ++i) {
                      const std::int64_t stride = i == 0 && !keeps_size ? stage.stride : 1;
                      s.emplace<InvertedResidual>(in, out, stride, stage.expansion);
                      in = out;
                    }
                  }
                  s.emplace<ConvBnAct>(in, features_of(options), layer(1));
                }),
      classifier_(scope / "classifier", [&](nn::Sequential& s) {
        s.emplace<nn::Dropout>(options.dropout);
        s.emplace<nn::Linear>(
            features_of(options),
            options.classes,
            nn::LinearOptions{.init = nn::init::normal(0, 0.01), .bias_init = nn::init::zeros()});
      }) {}

Var MobileNetV2::forward(const Var& x) {
  return classifier_(ops::flatten(ops::global_avg_pool(features_(x))));
}

std::string MobileNetV2::describe() const {
  return fmt::format(
      "MobileNetV2(width {}{})", options_.width, options_.small ? "" : ", stem of ImageNet");
}

void register_mobilenet_v2(ModelRegistry& registry) {
  registry.add(
      "mobilenet_v2",
      "MobileNetV2; for images of 128 pixels or more with stem=imagenet",
      MobileNetV2Options{},
      [](OptionTable& t, MobileNetV2Options& o) {
        t.choice("stem",
                 o.small,
                 {{"small", true}, {"imagenet", false}},
                 "whether the first layers keep the size of the image or, as in torchvision, halve "
                 "it twice");
        t.number("width", o.width, {.low = 0.05, .high = 8}, "X", "factor of all channels");
        t.number("dropout", o.dropout, kShare, "P", "before the last layer");
      },
      [](const MobileNetV2Options& o, const Task& task) {
        return make_convolutional<MobileNetV2>(
            "mobilenet_v2", task, {"features.7", "classifier"}, o);
      });
}

}  // namespace learn::models
