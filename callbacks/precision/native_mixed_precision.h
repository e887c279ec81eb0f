#pragma once
#include "callbacks/precision/precision_callback.h"

#include <optional>

namespace learn::callbacks {

struct NativeMixedPrecisionOptions {
  /// f16 or bf16: what products are computed in.
  DType dtype = DType::f16;
  /// f16: the first loss scale; default 2^16 (torch.amp.GradScaler's), or 512 if static. bf16 has
  /// the range of f32 and needs none: it must stay unset there.
  std::optional<float> loss_scale;
  /// torch.amp.GradScaler's factors and interval, with a floor and a ceiling.
  LossScaleOptions scaling{.growth_interval = 2000};
  std::int64_t max_skips = kMaxSkips;  ///< as MixedPrecisionOptions::max_skips
};

/// Trains in mixed precision as torch.amp and fastai 2 do: parameters stay f32, are what the
/// optimizer updates, and get f32 gradients; each operation casts its inputs as its rule says (ADR
/// 0019; `learn autocast` prints the rules), a weight once per step.
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
/// In bf16 there is no scale and nothing is looked through: steps are those of f32. See
/// `PrecisionCallback`.
class NativeMixedPrecision final : public PrecisionCallback {
 public:
  /// Throws as `PrecisionCallback`.
  explicit NativeMixedPrecision(const NativeMixedPrecisionOptions& options = {});

  [[nodiscard]] std::string_view name() const override { return "native_mixed_precision"; }
  [[nodiscard]] const NativeMixedPrecisionOptions& options() const noexcept { return options_; }

  void backward_end(Learner& learn) override;

 private:
  void begin(Learner& learn) override;
  void end(Learner& learn) override;

  NativeMixedPrecisionOptions options_;
};

/// Short forms: add NativeMixedPrecision to a learner and replace any other mixed precision; the
/// loss scale starts from its initial value. `to_fp32` removes it.
NativeMixedPrecision& to_native_fp16(Learner& learn, NativeMixedPrecisionOptions options = {});
NativeMixedPrecision& to_native_bf16(Learner& learn);

}  // namespace learn::callbacks
