#pragma once
#include "framework/nn/layers/activation.h"
#include "framework/nn/layers/batch_norm.h"
#include "framework/nn/layers/conv2d.h"
#include "framework/nn/layers/linear.h"
#include "framework/nn/layers/pool.h"

#include <array>
#include <cstdint>
#include <optional>

namespace learn::models {

struct AirbenchOptions {
  std::array<std::int64_t, 3> widths{64, 256, 256};  ///< channels of the three layers
  bool residual = false;      ///< a third convolution in each layer, and a residual around two
  std::int64_t channels = 3;  ///< of the images
  int classes = 10;
};

/// The networks of the airbench records (Jordan, "94% on CIFAR-10 in 3.29 seconds on a single GPU",
/// arXiv 2404.00498): a 2x2 convolution without padding to 2 * 2 * 2 * `channels` filters, GELU;
/// three layers; global max pool; linear without bias, times 1/9. A layer is a 3x3 convolution, 2x2
/// max pool, BatchNorm, GELU, another 3x3 convolution, BatchNorm and GELU.
///
/// The weight of the first convolution is not trained: the callback Whitening computes it from
/// images. Neither are BatchNorm's weights, which are 1. The first filters of the 3x3 convolutions
/// pass their input through; the others have PyTorch's initial values. Parameters: "whiten.weight",
/// "layer1.conv1.weight", "layer1.norm1.bias", "linear.weight". Images must be at least 9x9.
class Airbench final : public nn::Module {
 public:
  /// Throws UsageError for a number below 1.
  Airbench(const nn::Scope& scope, const AirbenchOptions& options);
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override;

 private:
  class Layer final : public nn::Module {
   public:
    Layer(const nn::Scope& scope, std::int64_t in, std::int64_t out, bool residual);
    [[nodiscard]] std::string describe() const override { return "Layer"; }

   protected:
    Var forward(const Var& x) override;

   private:
    nn::Conv2d conv1_;
    nn::MaxPool2d pool_;
    nn::BatchNorm2d norm1_;
    nn::Conv2d conv2_;
    nn::BatchNorm2d norm2_;
    std::optional<nn::Conv2d> conv3_;
    std::optional<nn::BatchNorm2d> norm3_;
  };

  AirbenchOptions options_;
  nn::Conv2d whiten_;
  nn::Activation gelu_;
  Layer layer1_, layer2_, layer3_;
  nn::GlobalMaxPool pool_;
  nn::Linear linear_;
};

}  // namespace learn::models
