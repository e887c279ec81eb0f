#pragma once
#include "framework/nn/layers/conv_bn_act.h"
#include "framework/nn/layers/linear.h"
#include "framework/nn/layers/pool.h"

#include <cstdint>
#include <optional>

namespace learn::models {

struct ResNet9Options {
  std::int64_t width = 64;    ///< channels of the first layer; the last have 8 times as many
  std::int64_t channels = 3;  ///< of the images
  int classes = 10;
};

/// The network of Page's DAWNBench entries ("How to train your ResNet", 2018): prep; layer1 and
/// layer3, each a convolution, a max pool and a residual of two convolutions; layer2 without the
/// residual; global max pool, linear without bias, times 0.125. All convolutions are 3x3 with
/// BatchNorm and relu. Names are Page's: "prep.conv.weight", "layer1.residual.res1.bn.bias",
/// "linear.weight". Images must be at least 8x8.
class ResNet9 final : public nn::Module {
 public:
  /// Throws UsageError for a number below 1.
  ResNet9(const nn::Scope& scope, const ResNet9Options& options);
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override;

 private:
  /// x + res2(res1(x)); the sum is fused into the last BatchNorm.
  class Residual final : public nn::Module {
   public:
    Residual(const nn::Scope& scope, std::int64_t channels);
    [[nodiscard]] std::string describe() const override { return "Residual"; }

   protected:
    Var forward(const Var& x) override { return res2_(res1_(x), x); }

   private:
    nn::ConvBnAct res1_, res2_;
  };

  /// Doubles the channels and halves the image.
  class Layer final : public nn::Module {
   public:
    Layer(const nn::Scope& scope, std::int64_t in, bool residual);
    [[nodiscard]] std::string describe() const override { return "Layer"; }

   protected:
    Var forward(const Var& x) override;

   private:
    nn::Conv2d conv_;
    nn::BatchNorm2d bn_;
    nn::MaxPool2d pool_;
    std::optional<Residual> residual_;
  };

  ResNet9Options options_;
  nn::ConvBnAct prep_;
  Layer layer1_, layer2_, layer3_;
  nn::GlobalMaxPool pool_;
  nn::Linear linear_;
};

}  // namespace learn::models
