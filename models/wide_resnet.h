#pragma once
#include "framework/nn/layers/sequential.h"

#include <cstdint>

namespace learn::models {

struct WideResNetOptions {
  std::int64_t groups = 3;    ///< groups of blocks; all but the first halve the image
  std::int64_t blocks = 3;    ///< of each group
  std::int64_t widen = 6;     ///< group i has start * widen * 2^i channels
  std::int64_t start = 16;    ///< channels of the stem
  double dropout = 0;         ///< between the convolutions of a block
  std::int64_t channels = 3;  ///< of the images
  int classes = 10;
};

/// Zagoruyko and Komodakis, "Wide residual networks", BMVC 2016, as fastai built it: blocks with
/// the normalization first, whose body is scaled by 0.2 before it is added to the shortcut of the
/// normalized input. The defaults are fastai's `wrn_22`: 9,658,458 parameters with 10 classes.
/// Names are fastai's: "features.1.bn.weight", "features.1.conv2.0.weight", ...
class WideResNet final : public nn::Module {
 public:
  /// Throws UsageError for a number below 1.
  WideResNet(const nn::Scope& scope, const WideResNetOptions& options);
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override { return features_(x); }

 private:
  WideResNetOptions options_;
  nn::Sequential features_;
};

}  // namespace learn::models
