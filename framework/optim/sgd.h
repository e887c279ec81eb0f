#pragma once
#include "framework/optim/optimizer.h"

namespace learn::optim {

struct SgdOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  bool nesterov = false;
  double weight_decay = 0;
  WeightDecay decay = WeightDecay::decoupled;
  bool decay_bn_bias = false;
  double bn_bias_lr = 1;
  bool flat = true;
};

/// Stochastic gradient descent in PyTorch's form (see kernels::sgd_step). While a group's momentum
/// is 0 its buffer is neither read nor written.
class Sgd final : public Optimizer {
 public:
  /// Throws UsageError for Nesterov's form with dampening or without momentum, as PyTorch.
  Sgd(nn::ParamStore& store, const SgdOptions& options);
  [[nodiscard]] std::string_view name() const override { return "sgd"; }

 protected:
  void update(int group, const nn::Segment& segment, const kernels::OptimTensors& tensors) override;

 private:
  bool nesterov_;
  Tensor& buffer_;
};

[[nodiscard]] OptimizerFactory sgd(const SgdOptions& options = {});

}  // namespace learn::optim
