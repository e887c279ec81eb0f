#pragma once
#include "callbacks/loss_scaling.h"
#include "framework/core/dtype.h"
#include "framework/learner/callback.h"

#include <optional>

namespace learn::callbacks {

struct MixedPrecisionOptions {
  /// f16 or bf16: what weights, activations and their gradients are in the model.
  DType dtype = DType::f16;
  /// f16: the first loss scale; default 512 if static (the notebook's), else 2^16 (fastai 1's).
  /// bf16 has the range of f32 and needs none: it must stay unset there.
  std::optional<float> loss_scale;
  /// How the scale moves. Static: `scaling.dynamic = false`.
  LossScaleOptions scaling;
  /// The optimizer updates masters in one pass over each run of the flat buffers (true) or
  /// parameter by parameter (false), as the optimizer does in f32. The same bits either way, but a
  /// launch per parameter costs a GPU more than the update itself.
  bool flat_master = true;
};

/// Trains in half precision with f32 masters (Micikevicius et al., "Mixed precision training",
/// 2018):
///
///   train_begin     weights to half; BatchNorm's parameters and all statistics stay f32
///   batch_begin     x to half
///   loss_begin      predictions to f32, so that the loss is computed in f32
///   backward_begin  the loss scale is the seed of the backward pass; the loss itself is not scaled
///   backward_end    half gradients to f32 master gradients, unscaled, looked through for inf, NaN
///   step_begin      gradients are what they would be in f32: clip, log, read here
///   (step)          the optimizer updates the masters, decay included, and rounds them into the
///                   model; a gradient that is not finite makes it, and the update of running
///                   statistics, do nothing at all; then the scale backs off, stays or grows
///   train_end       the model is f32 again: its weights are the masters, nothing is rounded
///
/// All of it is enqueued on the device. Validation inside a fit, and validate, get_preds and
/// predict outside, run in the same half precision. The scale carries over from fit to fit and is
/// part of a checkpoint (it lives in the optimizer's control block), which any other precision can
/// continue.
class MixedPrecision final : public Callback {
 public:
  /// Throws UsageError for a dtype that is not half, or options that contradict each other.
  explicit MixedPrecision(const MixedPrecisionOptions& options = {});

  [[nodiscard]] std::string_view name() const override { return "mixed_precision"; }
  [[nodiscard]] int order() const override { return order::kMixedPrecision; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<std::string> claims() const override;
  [[nodiscard]] PrecisionState* precision() override { return &scaling_.state(); }
  [[nodiscard]] const MixedPrecisionOptions& options() const noexcept { return options_; }

  void train_begin(Learner& learn) override;
  void validate_begin(Learner& learn) override;
  void batch_begin(Learner& learn) override;
  void loss_begin(Learner& learn) override;
  void backward_begin(Learner& learn) override;
  void backward_end(Learner& learn) override;
  void epoch_end(Learner& learn) override;
  void validate_end(Learner& learn) override;
  void train_end(Learner& learn) override;
  void error(Learner& learn, const std::exception& error) override;

 private:
  void enter(Learner& learn);
  void leave(Learner& learn);

  MixedPrecisionOptions options_;
  LossScaling scaling_;
  bool entered_ = false;
  bool flat_before_ = true;
};

/// The short forms: adds MixedPrecision to a learner, or takes mixed precision of either kind away.
/// Calling one again, or another, replaces what was there; the loss scale begins anew.
MixedPrecision& to_fp16(Learner& learn, MixedPrecisionOptions options = {});
MixedPrecision& to_bf16(Learner& learn);
void to_fp32(Learner& learn);

}  // namespace learn::callbacks
