#pragma once
#include "framework/learner/callback.h"
#include "framework/learner/graph_step.h"

#include <cstdint>
#include <string>

namespace learn::callbacks {

/// Runs the training step as one CUDA graph: forward pass, loss, backward pass, optimizer step and
/// what callbacks enqueue in between become one launch, with the same bits as without. The host's
/// work per batch falls to a few microseconds, which is most of the time of a small net's step.
///
/// Learning rates, the loss scale, skipped steps and random numbers keep changing. Callbacks whose
/// handlers need the host between batch_begin and batch_end (`capturable()` is false) keep the step
/// eager: one warning names them. So does a context on the CPU. Whatever reads values of a batch on
/// the host inside the body, in a loss function for instance, has the same effect. Batches that
/// differ in shape, as a short last one does, get a graph of their own. Options that change during
/// a fit make new graphs: `captured_options` of a callback and `Learner::step_changed` say so.
class CudaGraph final : public Callback {
 public:
  /// Batches of a kind that run eagerly before one is captured. Throws UsageError below 1.
  explicit CudaGraph(std::int64_t warm_up = GraphStep::kWarmUp);

  [[nodiscard]] std::string_view name() const override { return "cuda_graph"; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<std::string> claims() const override {
    return {"run the training step"};
  }
  void train_begin(Learner& learn) override;
  void train_end(Learner& learn) override;
  void error(Learner& learn, const std::exception& error) override;

  /// Statistics of the last fit.
  [[nodiscard]] const GraphStepCounts& counts() const noexcept { return counts_; }

 private:
  std::int64_t warm_up_;
  GraphStepCounts counts_;
};

}  // namespace learn::callbacks
