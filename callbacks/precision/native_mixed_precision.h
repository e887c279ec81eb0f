#pragma once
#include "callbacks/precision/precision_callback.h"

#include <optional>

namespace learn::callbacks {

struct NativeMixedPrecisionOptions {
  /// dtype in which products are computed: f16 or bf16.
  DType dtype = DType::f16;
  /// First loss scale for f16; default 2^16 (torch.amp.GradScaler's), or 512 if static. Must stay
  /// unset for bf16, which has the range of f32 and needs none.
  std::optional<float> loss_scale;
  /// Factors and interval of torch.amp.GradScaler, with a floor and a ceiling.
  LossScaleOptions scaling{.growth_interval = 2000};
  std::int64_t max_skips = kMaxSkips;  ///< as MixedPrecisionOptions::max_skips
};

/// Trains in mixed precision as torch.amp and fastai 2 do. Parameters stay f32, get f32 gradients,
/// and are updated directly. Each operation casts its inputs according to its rule (ADR 0019;
/// `learn autocast` prints the rules); a weight is cast once per step.
///
///   train_begin     forward passes run under autocast from now on
///   loss_begin      predictions to f32
///   backward_begin  the loss scale is the seed of the backward pass; the loss itself is not scaled
///   backward_end    gradients, f32 and in the store already, are unscaled in place and looked
///                   through for inf, NaN
///   step_begin      gradients are what they would be in f32: clip, log, read here
///   (step)          a gradient that is not finite makes it, and the update of running statistics,
///                   do nothing at all; then the scale backs off, stays or grows
///   train_end       no more autocast
///
/// bf16 has no loss scale, and its gradients are not checked: steps are as in f32. See
/// `PrecisionCallback`.
class NativeMixedPrecision final : public PrecisionCallback {
 public:
  /// Throws as `PrecisionCallback` does.
  explicit NativeMixedPrecision(const NativeMixedPrecisionOptions& options = {});

  [[nodiscard]] std::string_view name() const override { return "native_mixed_precision"; }
  [[nodiscard]] const NativeMixedPrecisionOptions& options() const noexcept { return options_; }

  void backward_end(Learner& learn) override;

 private:
  void begin(Learner& learn) override;
  void end(Learner& learn) override;

  NativeMixedPrecisionOptions options_;
};

/// Short form: adds NativeMixedPrecision to a learner and replaces any other mixed precision; the
/// loss scale starts again. `to_fp32` removes it.
NativeMixedPrecision& to_native_fp16(Learner& learn, NativeMixedPrecisionOptions options = {});
NativeMixedPrecision& to_native_bf16(Learner& learn);

}  // namespace learn::callbacks
