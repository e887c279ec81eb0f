#pragma once
#include "framework/nn/layers/batch_norm.h"
#include "framework/nn/layers/conv2d.h"
#include "framework/nn/layers/linear.h"
#include "framework/nn/layers/pool.h"
#include "framework/nn/layers/sequential.h"

#include <array>
#include <cstdint>
#include <optional>

namespace learn::models {

enum class ResNetBlock : std::uint8_t {
  basic,       ///< two 3x3 convolutions
  bottleneck,  ///< 1x1, 3x3 (with the stride), 1x1 to four times the channels
};

enum class ResNetStem : std::uint8_t {
  small,     ///< one 3x3 convolution: 32x32 becomes 4x4 before the global average
  imagenet,  ///< 7x7 with stride 2, then a 3x3 max pool with stride 2: 224x224 becomes 7x7
};

struct ResNetOptions {
  ResNetStem stem = ResNetStem::small;
  ResNetBlock block = ResNetBlock::basic;
  std::array<std::int64_t, 4> blocks{2, 2, 2, 2};  ///< of each stage
  std::int64_t width = 64;                         ///< of the first stage; doubles in each
  std::int64_t channels = 3;                       ///< of the images
  int classes = 10;
};

/// He et al., "Deep residual learning for image recognition", CVPR 2016. Names and initial values
/// (kaiming_normal, fan out) are torchvision's: "layer1.0.conv1.weight",
/// "layer2.0.downsample.0.weight", "fc.bias".
class ResNet final : public nn::Module {
 public:
  /// Throws UsageError for a number below 1.
  ResNet(const nn::Scope& scope, const ResNetOptions& options);
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override;

 private:
  ResNetOptions options_;
  nn::Conv2d conv1_;
  nn::BatchNorm2d bn1_;
  std::optional<nn::MaxPool2d> maxpool_;
  nn::Sequential layer1_, layer2_, layer3_, layer4_;
  nn::GlobalAvgPool avgpool_;
  nn::Linear fc_;
};

}  // namespace learn::models
