#pragma once
#include "framework/optim/optimizer.h"

namespace learn::optim {

/// The defaults are fastai's: beta2 0.99 and eps 1e-5 (PyTorch: 0.999 and 1e-8).
struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double eps = 1e-5;
  double weight_decay = 0;
  WeightDecay decay = WeightDecay::decoupled;
  bool decay_bn_bias = false;
  double bn_bias_lr = 1;
  bool flat = true;
};

/// Adam with coupled (L2) decay, AdamW with decoupled decay (see kernels::adam_step).
class Adam final : public Optimizer {
 public:
  Adam(nn::ParamStore& store, const AdamOptions& options);
  [[nodiscard]] std::string_view name() const override {
    return options().decay == WeightDecay::decoupled ? "adamw" : "adam";
  }

 protected:
  void update(int group, const nn::Segment& segment, const kernels::OptimTensors& tensors) override;

 private:
  Tensor& mean_;
  Tensor& square_;
};

/// Adam with L2 decay, whatever `options.decay` says.
[[nodiscard]] OptimizerFactory adam(AdamOptions options = {});
/// AdamW: decoupled decay, whatever `options.decay` says.
[[nodiscard]] OptimizerFactory adamw(AdamOptions options = {});

}  // namespace learn::optim
