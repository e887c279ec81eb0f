#pragma once
#include "callbacks/precision/precision_callback.h"

namespace learn::callbacks {

struct PureHalfOptions {
  /// dtype of weights, gradients and the optimizer's state: f16 or bf16.
  DType dtype = DType::f16;
};

/// Trains in half precision without f32 masters, as apex's O3 and `model.half()` in PyTorch do. It
/// is the baseline for mixed precision: it uses the least memory, and shows the problems that mixed
/// precision solves.
///
///   train_begin  weights, BatchNorm's too, and the optimizer's state are rounded to halves;
///                running statistics stay f32
///   batch_begin  x to half
///   loss_begin   predictions to f32, so that the loss is computed in f32
///   (step)       the update is computed in f32 and rounded to halves: one below half a unit in the
///                last place of its weight (2^-12 of it in f16, 2^-9 in bf16) is lost
///   train_end    weights and state are f32 again, and what was rounded away stays so
///
/// BatchNorm, and the modules that `keep_f32` names, compute in f32 with half parameters. Pure half
/// has no loss scale, and its gradients are not checked for inf and NaN. See `PrecisionCallback`.
class PureHalf final : public PrecisionCallback {
 public:
  /// Throws UsageError for a dtype that is not half.
  explicit PureHalf(const PureHalfOptions& options = {});

  [[nodiscard]] std::string_view name() const override { return "pure_half"; }
  [[nodiscard]] const PureHalfOptions& options() const noexcept { return options_; }

  void batch_begin(Learner& learn) override;

 private:
  void begin(Learner& learn) override;
  void end(Learner& learn) override;

  PureHalfOptions options_;
};

/// Short form: adds PureHalf to a learner and replaces any other half precision. `to_fp32` removes
/// it.
PureHalf& to_pure_fp16(Learner& learn);
PureHalf& to_pure_bf16(Learner& learn);

}  // namespace learn::callbacks
