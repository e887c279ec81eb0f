#pragma once
#include "framework/autograd/ops.h"
#include "framework/autograd/tape.h"
#include "framework/nn/init.h"
#include "framework/nn/module.h"

#include <cstdint>

namespace learn::nn {

/// Batch normalization, with the activation and the residual of the options fused into it.
/// Parameters weight (C), bias (C) and buffers running_mean (C), running_var (C), always f32 in a
/// half model. Uses and updates batch statistics in training, running ones in eval mode, and,
/// where both parameters are frozen, in the mode train_unfrozen.
class BatchNorm : public Module {
 public:
  using Module::operator();
  /// act(bn(x)) + residual, or act(bn(x) + residual): see BatchNormOptions.
  Var operator()(const Var& x, const Var& residual);
  [[nodiscard]] std::string describe() const override;

 protected:
  BatchNorm(const Scope& scope,
            int dimensions,
            std::int64_t channels,
            const BatchNormOptions& options,
            const Init& weight);
  Var forward(const Var& x) override;

 private:
  Var normalize(const Var& x, const Var& residual);
  [[nodiscard]] ForwardMode mode_on(const Tape& tape) const;

  int dimensions_;
  std::int64_t channels_;
  BatchNormOptions options_;
  Param weight_, bias_;
  Buffer running_mean_, running_var_;
};

/// Batch normalization of images (N,H,W,C), per channel.
class BatchNorm2d final : public BatchNorm {
 public:
  explicit BatchNorm2d(const Scope& scope,
                       std::int64_t channels,
                       const BatchNormOptions& options = {},
                       const Init& weight = init::ones())
      : BatchNorm(scope, 2, channels, options, weight) {}
};

/// Batch normalization of features (N,C), per feature.
class BatchNorm1d final : public BatchNorm {
 public:
  explicit BatchNorm1d(const Scope& scope,
                       std::int64_t channels,
                       const BatchNormOptions& options = {},
                       const Init& weight = init::ones())
      : BatchNorm(scope, 1, channels, options, weight) {}
};

}  // namespace learn::nn
