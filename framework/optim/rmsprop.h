#pragma once
#include "framework/optim/optimizer.h"

namespace learn::optim {

/// eps as in fastai; PyTorch's is 1e-8.
struct RmsPropOptions {
  double lr = 1e-3;
  double alpha = 0.99;
  double momentum = 0;
  bool centered = false;
  double eps = 1e-5;
  double weight_decay = 0;
  WeightDecay decay = WeightDecay::decoupled;
  bool decay_bn_bias = false;
  double bn_bias_lr = 1;
  bool flat = true;
};

/// RMSProp in PyTorch's form (see kernels::rmsprop_step). While a group's momentum is 0 its buffer
/// is neither read nor written.
class RmsProp final : public Optimizer {
 public:
  RmsProp(nn::ParamStore& store, const RmsPropOptions& options);
  [[nodiscard]] std::string_view name() const override { return "rmsprop"; }

 protected:
  void update(int group, const nn::Segment& segment, const kernels::OptimTensors& tensors) override;

 private:
  Tensor& square_;
  Tensor* mean_;  // null unless centered
  Tensor& buffer_;
};

[[nodiscard]] OptimizerFactory rmsprop(const RmsPropOptions& options = {});

}  // namespace learn::optim
