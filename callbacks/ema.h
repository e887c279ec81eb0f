#pragma once
#include "framework/kernels/optim/ema_options.h"
#include "framework/learner/callback.h"
#include "framework/tensor/tensor.h"

#include <cstdint>

namespace learn::callbacks {

/// Keeps an exponential moving average of the weights (Polyak & Juditsky, 1992; timm's ModelEma).
/// After each update the average moves 1 - decay of the way to the masters; a skipped step does not
/// change it. BatchNorm's running statistics are already averages and stay unchanged.
///
///   train_begin     of the first fit: the average starts as a copy of the masters
///   step_end        average += (1 - decay) * (masters - average), on the device
///   validate_begin  with `evaluate`, the average replaces the model's weights ...
///   validate_end    ... and the weights are restored, bit for bit
///
/// So validation, get_preds and predict use the averaged weights, inside a fit and outside of it.
/// The Checkpointer's best.safetensors holds the weights that were validated. The average
/// is a state of the ParamStore, "ema", and part of each checkpoint; it carries over from fit to
/// fit.
class Ema final : public Callback {
 public:
  /// `options.first_step` is determined when the training starts. Throws UsageError unless decay is
  /// in [0, 1).
  explicit Ema(const EmaOptions& options = {}, bool evaluate = true);

  [[nodiscard]] std::string_view name() const override { return "ema"; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  void visit_state(StateVisitor& visitor) override;
  void attached(Learner& learn) override;

  void train_begin(Learner& learn) override;
  void step_end(Learner& learn) override;
  void validate_begin(Learner& learn) override;
  void validate_end(Learner& learn) override;
  void error(Learner& learn, const std::exception& error) override;

  /// Whether validation uses the average.
  [[nodiscard]] bool evaluates() const noexcept { return evaluate_; }
  /// The averaged weights, f32 in the store's flat order.
  [[nodiscard]] static Tensor& average(Learner& learn);
  /// Swaps the average into the model, or the model's weights back. Does nothing before the average
  /// exists, or if the requested weights are in the model already.
  void show(Learner& learn);
  void hide(Learner& learn);

 private:
  EmaOptions options_;
  bool evaluate_;
  bool begun_ = false;  // an average exists, from an earlier fit or a checkpoint
  bool shown_ = false;
  Tensor own_;  // the masters while the model holds the average
};

}  // namespace learn::callbacks
