#include "models/wide_resnet.h"

#include "framework/autograd/ops.h"
#include "framework/nn/layers.h"
#include "models/registry.h"

#include <fmt/core.h>

#include <optional>

namespace learn::models {
namespace {

constexpr double kBodyScale = 0.2;  // fastai's

nn::ConvOptions conv(std::int64_t kernel, std::int64_t stride) {
  return {.kernel = kernel, .stride = stride, .bias = false, .init = nn::init::kaiming_normal()};
}

BatchNormOptions relu() { return {.activation = ActivationKind::relu()}; }

/// r = relu(bn(x)); 0.2 * conv2(relu(bn(conv1(r)))) + shortcut(r).
class Block final : public nn::Module {
 public:
  Block(const nn::Scope& scope,
        std::int64_t in,
        std::int64_t out,
        std::int64_t stride,
        double dropout)
      : Module(scope),
        bn_(scope / "bn", in, relu()),
        conv1_(scope / "conv1", in, out, conv(3, stride)),
        bn2_(scope / "conv2" / "0", out, relu()),
        conv2_(scope / "conv2" / "2", out, out, conv(3, 1)) {
    if (dropout > 0) drop_.emplace(scope / "drop", dropout);
    if (in != out || stride != 1) shortcut_.emplace(scope / "shortcut", in, out, conv(1, stride));
  }
  std::string describe() const override { return "Block"; }

 protected:
  Var forward(const Var& x) override {
    const Var active = bn_(x);
    const Var skip = shortcut_ ? (*shortcut_)(active) : active;
    Var y = conv1_(active);
    if (drop_) y = (*drop_)(y);
    return ops::add(ops::scale(conv2_(bn2_(y)), kBodyScale), skip);
  }

 private:
  nn::BatchNorm2d bn_;
  nn::Conv2d conv1_;
  nn::BatchNorm2d bn2_;
  nn::Conv2d conv2_;
  std::optional<nn::Dropout> drop_;
  std::optional<nn::Conv2d> shortcut_;
};

const WideResNetOptions& checked(const WideResNetOptions& o) {
  check<UsageError>(o.groups >= 1 && o.blocks >= 1 && o.widen >= 1 && o.start >= 1 &&
                        o.channels >= 1 && o.classes >= 1,
                    "WideResNet: {} groups of {} blocks, widening {}, start {}, {} channels and {} "
                    "classes must all be at least 1",
                    o.groups,
                    o.blocks,
                    o.widen,
                    o.start,
                    o.channels,
                    o.classes);
  return o;
}

}  // namespace

WideResNet::WideResNet(const nn::Scope& scope, const WideResNetOptions& options)
    : Module(scope), options_(checked(options)), features_(scope / "features") {
  std::int64_t in = options.start;
  features_.emplace<nn::Conv2d>(options.channels, in, conv(3, 1));
  for (std::int64_t group = 0; group < options.groups; ++group) {
    const std::int64_t out = (options.start * options.widen) << group;
    for (std::int64_t i = 0; i < options.blocks; ++i) {
      features_.emplace<Block>(in, out, i == 0 && group > 0 ? 2 : 1, options.dropout);
      in = out;
    }
  }
  features_.emplace<nn::BatchNorm2d>(in);
  features_.emplace<nn::Activation>(ActivationKind::relu());
  features_.emplace<nn::GlobalAvgPool>();
  features_.emplace<nn::Flatten>();
  features_.emplace<nn::Linear>(in, options.classes);
}

std::string WideResNet::describe() const {
  return fmt::format("WideResNet({} groups of {} blocks, widening {})",
                     options_.groups,
                     options_.blocks,
                     options_.widen);
}

void register_wide_resnet(ModelRegistry& registry) {
  registry.add(
      "wrn_22",
      "fastai's wide ResNet of 22 layers",
      WideResNetOptions{},
      [](OptionTable& t, WideResNetOptions& o) {
        t.number("width", o.widen, kWidth, "N", "widening factor");
        t.number("dropout", o.dropout, kShare, "P", "between the convolutions of a block");
      },
      [](const WideResNetOptions& o, const Task& task) {
        return make_convolutional<WideResNet>("wrn_22", task, {"features.4", "features.14"}, o);
      });
}

}  // namespace learn::models
