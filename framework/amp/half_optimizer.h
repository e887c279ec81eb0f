#pragma once
#include "framework/amp/grad_scaler.h"
#include "framework/core/dtype.h"

namespace learn::amp {

/// apex's FP16_Optimizer's arguments and constants: its dynamic scale starts at 2^16, grows after
/// 2000 clean steps up to 2^24, and has no floor except that of f32.
struct HalfOptimizerOptions {
  DType dtype = DType::f16;
  float static_loss_scale = 1;
  bool dynamic_loss_scale = false;
  float init_scale = 0x1p16F;
  LossScaleOptions scaling{.growth_interval = 2000, .floor = 0x1p-126F, .ceiling = 0x1p24F};
};

/// apex's FP16_Optimizer: a half model and the f32 masters of its optimizer, in your own training
/// loop.
///
///     amp::HalfOptimizer half(optimizer, {.dynamic_loss_scale = true});
///     half.backward(loss);
///     half.clip_master_grads(1);
///     half.step();
///
/// The model's inputs are halves; batch norm's parameters and masters are f32 (ADR 0002). Unlike
/// apex's, a static scale skips a step with gradients that are not finite too.
class HalfOptimizer {
 public:
  /// Makes the model of `optimizer` one of halves; both must outlive it. Throws DTypeError for a
  /// dtype that is not half; UsageError as GradScaler does.
  explicit HalfOptimizer(optim::Optimizer& optimizer, const HalfOptimizerOptions& options = {});

  /// Drops all gradients: needed only where a loss is given up, as `step` does it too.
  void zero_grad() { optimizer_.store().begin_gradients(); }
  /// The backward pass of the scaled loss; then, by default, `update_master_grads`. For a sum of
  /// several losses or batches all but the last leave that out.
  void backward(const Var& loss, bool update_master_grads = true);
  /// Half gradients to f32 master gradients, unscaled and looked through. Throws Error when it is
  /// called twice for one step.
  void update_master_grads() { scaler_.unscale(optimizer_); }
  /// Clips the master gradients by their global norm, as PyTorch's clip_grad_norm_. Returns the
  /// norm before, or -1 if a gradient is not finite: the step will be skipped. Waits for the
  /// device. Throws Error before `update_master_grads`.
  float clip_master_grads(float max_norm);
  /// Updates masters and model unless a gradient is not finite; then the scale moves.
  void step();

  [[nodiscard]] optim::Optimizer& optimizer() const noexcept { return optimizer_; }
  [[nodiscard]] const GradScaler& scaler() const noexcept { return scaler_; }
  /// Both wait for the device. The latter: whether `update_master_grads` found one, until `step`.
  [[nodiscard]] float read_loss_scale() const { return scaler_.read_scale(); }
  [[nodiscard]] bool read_overflow() const;
  /// Masters and buffers, the optimizer's state, the scale: all that a resumed training needs.
  void visit_state(StateVisitor& visitor);

 private:
  optim::Optimizer& optimizer_;
  GradScaler scaler_;
};

}  // namespace learn::amp
