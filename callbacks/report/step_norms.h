#pragma once
#include "framework/learner/callback.h"
#include "framework/tensor/tensor.h"

namespace learn::callbacks {

/// Measures each step: the L2 norm of all gradients, at step_begin, unscaled and before clipping;
/// and how far the step moves the weights, the norm of the change of all masters over that of the
/// masters, decay included. The Recorder, which it needs, keeps both for each batch; their means
/// over an epoch's steps are the metrics `grad_norm` and `update_ratio`. A ratio of some 1e-3 is
/// usual; one far above is a rate that is too high, one below 2^-11 is lost where weights are half.
///
/// Nothing waits for the host, and a captured step stays one. It costs passes over the weights:
/// memory of their size while a fit runs, and, in bytes, six readings and two writings of them.
class StepNorms final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "step_norms"; }
  /// Before gradients are clipped.
  [[nodiscard]] int order() const override { return order::kGradientClip - 1; }
  [[nodiscard]] bool runs_in_sandbox() const override { return false; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  [[nodiscard]] std::vector<std::string> metrics() const override;
  /// Throws UsageError without a Recorder.
  void train_begin(Learner& learn) override;
  void step_begin(Learner& learn) override;
  void step_end(Learner& learn) override;
  void batch_end(Learner& learn) override;
  void validate_end(Learner& learn) override;
  void train_end(Learner& learn) override;
  void error(Learner& learn, const std::exception& error) override;

 private:
  Tensor change_;                   // first minus the masters, then what the step has added to them
  Tensor grad_, update_, weights_;  // norms, one f32 element each
};

}  // namespace learn::callbacks
