#pragma once
#include "framework/nn/module.h"

#include <cstdint>

namespace learn::nn {

/// Division by the root of the mean square over the last dimension, of C values (Zhang & Sennrich,
/// "Root mean square layer normalization", 2019): of the features of (N,C) or (N,T,C). Parameter
/// weight (C), always f32 in a half model.
class RMSNorm final : public Module {
 public:
  /// The default of eps is PyTorch's; many nets have 1e-6. Throws UsageError for a channel count
  /// below 1.
  explicit RMSNorm(const Scope& scope, std::int64_t channels, float eps = 0x1p-23F);
  [[nodiscard]] std::string describe() const override;

 protected:
  Var forward(const Var& x) override;

 private:
  std::int64_t channels_;
  float eps_;
  Param weight_ = nullptr;
};

}  // namespace learn::nn
