#pragma once
#include "framework/nn/layers/dropout.h"
#include "framework/nn/layers/linear.h"
#include "framework/nn/layers/sequential.h"

#include <cstdint>

namespace learn::models {

struct MobileNetV2Options {
  double width = 1;  ///< factor of all channels
  /// For images of about 32x32: the stem and the second stage do not halve the image, so that 32x32
  /// becomes 4x4 before the global average. Otherwise 224x224 becomes 7x7.
  bool small = true;
  double dropout = 0.2;
  std::int64_t channels = 3;  ///< of the images
  int classes = 10;
};

/// Sandler et al., "MobileNetV2: inverted residuals and linear bottlenecks", CVPR 2018. Layers,
/// names and initial values (kaiming_normal, fan out; linear normal 0.01) are torchvision's:
/// "features.0.0.weight", "features.2.conv.1.0.weight", "classifier.1.bias". Channels are multiples
/// of 8.
class MobileNetV2 final : public nn::Module {
 public:
  /// Throws UsageError for a width that is not positive, or fewer than one class.
  MobileNetV2(const nn::Scope& scope, const MobileNetV2Options& options);
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override;

 private:
  MobileNetV2Options options_;
  nn::Sequential features_, classifier_;
};

}  // namespace learn::models
