#pragma once
#include "framework/nn/init.h"
#include "framework/nn/module.h"

#include <cstdint>

namespace learn::nn {

/// Layer normalization over the last dimension, of C values: of the channels of each pixel of
/// (N,H,W,C), of the features of (N,C). Parameters weight (C) and bias (C), always f32 in a half
/// model.
class LayerNorm final : public Module {
 public:
  /// Throws UsageError for a channel count below 1.
  explicit LayerNorm(const Scope& scope, std::int64_t channels, float eps = 1e-5F);
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override;

 private:
  std::int64_t channels_;
  float eps_;
  Param weight_ = nullptr;
  Param bias_ = nullptr;
};

}  // namespace learn::nn
