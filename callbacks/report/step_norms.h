#pragma once
#include "framework/learner/callback.h"
#include "framework/tensor/tensor.h"

namespace learn::callbacks {

/// Measures each step: the L2 norm of all gradients, at step_begin, unscaled and before clipping;
/// and how far the step moves the weights, as the norm of the change of all masters, including
/// decay, over the norm of the masters. The Recorder, which it needs, keeps both for each batch.
/// Their means over an epoch's steps are the metrics `grad_norm` and `update_ratio`. A ratio of
/// some 1e-3 is usual. One far above means that the rate is too high; one below 2^-11 is lost if
/// weights are half.
///
/// No batch waits for the host, and a captured step stays captured. The cost is extra passes over
/// the weights: memory of their size during a fit and, in bytes, six reads and two writes of them.
class StepNorms final : public Callback {
 public:
  [[nodiscard]] std::string_view name() const override { return "step_norms"; }
  /// Runs before gradients are clipped.
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
  Tensor change_;                   // first minus the masters, later the change by the step
  Tensor grad_, update_, weights_;  // norms, one f32 element each
};

}  // namespace learn::callbacks
