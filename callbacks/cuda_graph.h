#pragma once
#include "framework/learner/callback.h"
#include "framework/learner/graph_step.h"

#include <cstdint>
#include <string>

namespace learn::callbacks {

/// Runs the training step as one CUDA graph. Forward pass, loss, backward pass, optimizer step and
/// the work that callbacks enqueue in between become one launch, and the results are bit-identical.
/// The host's work per batch, which is most of the time of a small net's step, falls to a few
/// microseconds.
///
/// Learning rates, the loss scale, skipped steps and random numbers keep changing. The step stays
/// eager on the CPU, if callbacks have handlers that need the host between batch_begin and
/// batch_end (`capturable()` is false; one warning names them), and if anything inside the body
/// reads values of a batch on the host, for instance a loss function. Batches of another shape,
/// such as a short last one, get a separate graph. Options that change during a fit lead to new
/// graphs; a callback reports them by `captured_options` and `Learner::step_changed`.
class CudaGraph final : public Callback {
 public:
  /// Number of batches of each shape that run eagerly before one is captured. Throws UsageError
  /// below 1.
  explicit CudaGraph(std::int64_t warm_up = GraphStep::kWarmUp);

  [[nodiscard]] std::string_view name() const override { return "cuda_graph"; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<std::string> claims() const override {
    return {"run the training step"};
  }
  void train_begin(Learner& learn) override;
  void train_end(Learner& learn) override;
  void error(Learner& learn, const std::exception& error) override;

  /// Counts of the last fit.
  [[nodiscard]] const GraphStepCounts& counts() const noexcept { return counts_; }

 private:
  std::int64_t warm_up_;
  GraphStepCounts counts_;
};

}  // namespace learn::callbacks
