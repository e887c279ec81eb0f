#pragma once
#include "framework/optim/optimizer.h"

#include <vector>

namespace learn::optim {

struct MuonOptions {
  double lr = 0.02;
  double momentum = 0.95;
  std::int64_t iterations = 5;  ///< of Newton and Schulz
  /// Scales a matrix to the norm sqrt(rows) before each update, as airbench's variant does: then
  /// weight decay has no effect on it.
  bool normalize = false;
  double weight_decay = 0;
  WeightDecay decay = WeightDecay::decoupled;
  bool decay_bn_bias = false;
  double bn_bias_lr = 1;
  bool flat = true;
};

/// Muon (Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024). Weights
/// of two or more dimensions, but not the model's last one, are matrices (rows, the rest). With g
/// the gradient and b = momentum * b + g:
///
///   u = g + momentum * b
///   w = (1 - lr * weight_decay) * w - lr * orthogonal(u)
///
/// where orthogonal(u) has about the singular vectors of u and singular values of about 1, by an
/// iteration of Newton and Schulz with the authors' coefficients, in f32. Coupled decay adds
/// weight_decay * w to g. The update does not depend on the scale of the gradient. All other
/// parameters are updated as by `Sgd` with Nesterov momentum; give the last layer another rate
/// by a layer group.
class Muon final : public Optimizer {
 public:
  /// Throws UsageError for less than 1 iteration.
  Muon(nn::ParamStore& store, const MuonOptions& options);
  [[nodiscard]] std::string_view name() const override { return "muon"; }

 protected:
  void update(int group, const nn::Segment& segment, const kernels::OptimTensors& tensors) override;

 private:
  void update_matrix(std::int64_t param, const kernels::OptimTensors& tensors, Tensor buffer) const;
  /// Returns nearly orthogonal rows or columns for a matrix.
  [[nodiscard]] Tensor orthogonal(const Tensor& matrix) const;

  std::int64_t iterations_;
  bool normalize_;
  std::int64_t head_;  // the last weight
  Tensor& buffer_;
};

[[nodiscard]] OptimizerFactory muon(const MuonOptions& options = {});

}  // namespace learn::optim
