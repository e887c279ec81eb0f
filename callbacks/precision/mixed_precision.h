#pragma once
#include "callbacks/precision/precision_callback.h"

#include <optional>

namespace learn::callbacks {

struct MixedPrecisionOptions {
  /// dtype of weights, activations and their gradients in the model: f16 or bf16.
  DType dtype = DType::f16;
  /// First loss scale for f16; default 512 if static (from fastai's notebook), else 2^16 (fastai
  /// 1's). Must stay unset for bf16, which has the range of f32 and needs none.
  std::optional<float> loss_scale;
  /// Scaling policy. Static: `scaling.dynamic = false`.
  LossScaleOptions scaling;
  /// Number of consecutive skipped steps that end the training with a DivergedError, if the scale
  /// does not fall any further. On a GPU the host detects them later, after
  /// `PrecisionCallback::kBatchesBetweenLooks` batches.
  std::int64_t max_skips = kMaxSkips;
  /// Whether the optimizer updates the masters in one pass over each run of the flat buffers (true)
  /// or parameter by parameter (false), as in f32. The results are bit-identical, but a launch per
  /// parameter costs a GPU more than the update itself.
  bool flat_master = true;
};

/// Trains in half precision with f32 masters (Micikevicius et al., "Mixed precision training",
/// 2018):
///
///   train_begin     weights to half; BatchNorm's parameters, weight norm's lengths and all
///                   statistics stay f32
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
/// See `PrecisionCallback`.
class MixedPrecision final : public PrecisionCallback {
 public:
  /// Throws as `PrecisionCallback` does.
  explicit MixedPrecision(const MixedPrecisionOptions& options = {});

  [[nodiscard]] std::string_view name() const override { return "mixed_precision"; }
  [[nodiscard]] const MixedPrecisionOptions& options() const noexcept { return options_; }

  void batch_begin(Learner& learn) override;
  void backward_end(Learner& learn) override;

 private:
  void begin(Learner& learn) override;
  void end(Learner& learn) override;

  MixedPrecisionOptions options_;
  bool flat_before_ = true;
};

/// Short form: adds MixedPrecision to a learner and replaces any other half precision; the loss
/// scale starts again. `to_fp32` removes it.
MixedPrecision& to_fp16(Learner& learn, MixedPrecisionOptions options = {});
MixedPrecision& to_bf16(Learner& learn);

}  // namespace learn::callbacks
