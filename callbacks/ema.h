#pragma once
#include "framework/kernels/optim/ema_options.h"
#include "framework/learner/callback.h"
#include "framework/tensor/tensor.h"

#include <cstdint>

namespace learn::callbacks {

/// Keeps an exponential moving average of the weights (Polyak & Juditsky, 1992; timm's ModelEma):
/// after each update the average goes 1 - decay of the way to the masters. A step that is skipped,
/// by anyone, leaves it as it is. BatchNorm's running statistics are averages of their own and stay
/// the model's.
///
///   train_begin     of the first fit: the average begins as a copy of the masters
///   step_end        average += (1 - decay) * (masters - average), on the device
///   validate_begin  with `evaluate`, the model is shown with the average ...
///   validate_end    ... and with its own weights again, the same bits
///
/// So a validation pass measures the averaged weights, inside a fit and outside of it, and so do
/// get_preds and predict. The Checkpointer's best.safetensors holds what was measured. The average
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
  /// Puts the average into the model, and back what was there. Nothing happens before there is an
  /// average, or if that is so already.
  void show(Learner& learn);
  void hide(Learner& learn);

 private:
  EmaOptions options_;
  bool evaluate_;
  bool begun_ = false;  // there is an average: from an earlier fit or a checkpoint
  bool shown_ = false;
  Tensor own_;  // the masters while the average is shown
};

}  // namespace learn::callbacks
