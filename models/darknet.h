#pragma once
#include "framework/nn/layers/sequential.h"

#include <cstdint>
#include <vector>

namespace learn::models {

struct DarknetOptions {
  std::vector<std::int64_t> blocks{1, 2, 2, 2, 2};  ///< residual blocks of each group
  std::int64_t width = 16;                          ///< channels of the stem; doubles in each group
  std::int64_t channels = 3;                        ///< of the images
  int classes = 10;
  bool weight_norm = false;  ///< of the convolutions, with a bias, in the place of BatchNorm
};

/// The Darknet of fastai's development notebooks (nb_002b): a stem, then for each group a
/// convolution that doubles the channels and `blocks[i]` residual blocks; all convolutions 3x3 (the
/// blocks' first 1x1) with BatchNorm and leaky relu 0.1; global average, linear. Every group halves
/// the image except group 1: that is how the notebook has it, unlike fastai's later releases.
/// Names are PyTorch's of that notebook: "layers.0.0.weight", "layers.2.conv1.0.weight", ...
class Darknet final : public nn::Module {
 public:
  /// Throws UsageError for no blocks, or a number below 1.
  Darknet(const nn::Scope& scope, const DarknetOptions& options);
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override { return layers_(x); }

 private:
  DarknetOptions options_;
  nn::Sequential layers_;
};

}  // namespace learn::models
