#pragma once
#include "framework/autograd/var.h"
#include "framework/interfaces/state_visitor.h"
#include "framework/kernels/step/loss_scale_options.h"
#include "framework/optim/optimizer.h"

#include <cstdint>
#include <map>
#include <optional>

namespace learn::amp {

/// torch.amp.GradScaler's arguments and constants.
struct GradScalerOptions {
  float init_scale = 0x1p16F;
  /// PyTorch's has neither floor nor ceiling: here they are where a scale or its inverse would stop
  /// being an f32.
  LossScaleOptions scaling{.growth_interval = 2000, .floor = 0x1p-126F, .ceiling = 0x1p126F};
  /// False: the scale is 1 and stays, f32 gradients are not looked through. For a program that
  /// trains in f32 or bf16 by the same lines.
  bool enabled = true;
};

/// Loss scaling in your own training loop, as torch.amp.GradScaler does it:
///
///     const AutocastRegion region(tape, DType::f16);
///     const Var loss = ops::softmax_cross_entropy(model(tape.input(x)), y, 0);
///     tape.backward(scaler.scale(loss));
///     scaler.step(optimizer);
///     scaler.update();
///
/// Between `unscale` and `step` gradients can be read and clipped. Several optimizers can share a
/// scaler: an overflow in the gradients of one skips the step of that one, and lowers the scale for
/// all. Several scalers can share an optimizer, each for a separate loss: see `stash`.
///
/// All of it is enqueued on the device; the host never waits, and does not know whether a step was
/// skipped unless it reads the result. A skipped step leaves no trace in weights, optimizer state
/// and running statistics. Order is checked: `unscale` and `step` once each between two updates.
/// Gradients of several backward passes add up until a step uses them; then they are dropped, so
/// that nothing has to be zeroed.
class GradScaler {
 public:
  /// Throws UsageError as `kernels::check_loss_scaling`.
  explicit GradScaler(Context& ctx, const GradScalerOptions& options = {});

  /// loss * scale, f32 on the loss's tape.
  [[nodiscard]] Var scale(const Var& loss) const;
  /// The gradients that the model of `optimizer` has so far, divided by the scale, in f32; looked
  /// through for what is not finite. Parameters that took no part have gradients of zero then.
  /// Throws Error without a backward pass, and when it is called twice, or after `step`, since the
  /// last `update`.
  void unscale(optim::Optimizer& optimizer);
  /// Unscales if necessary, and stashes the gradients: the next backward pass, for the loss of
  /// another scaler, starts without gradients, and its next `unscale` adds them again. Throws as
  /// `unscale`.
  void stash(optim::Optimizer& optimizer);
  /// Unscales if that was not done, and enqueues `optimizer.step()`, which does nothing if a
  /// gradient is not finite; drops the gradients. Throws Error without a backward pass, and when it
  /// is called twice, or after `stash`, since the last `update`.
  void step(optim::Optimizer& optimizer);
  /// The scale backs off if a gradient of this step was not finite; otherwise it grows after
  /// `growth_interval` of such updates. With `new_scale` it becomes that. Ends the step for all
  /// optimizers. Throws Error if none was unscaled or stepped since the last one; UsageError for a
  /// scale as the constructor does.
  void update(const std::optional<float>& new_scale = {});

  [[nodiscard]] bool enabled() const noexcept { return options_.enabled; }
  /// Whether its gradients are unscaled, and no step has used them.
  [[nodiscard]] bool is_unscaled(optim::Optimizer& optimizer) const;
  [[nodiscard]] const GradScalerOptions& options() const noexcept { return options_; }
  /// The scale and its counters, 1 where it is not enabled. Waits for the device.
  [[nodiscard]] StepControl read_control() const;
  [[nodiscard]] float read_scale() const { return read_control().loss_scale; }
  /// Scale and counters: save and load it with model and optimizer, between two steps. Throws Error
  /// in the middle of one.
  void visit_state(StateVisitor& visitor);

 private:
  enum class Stage : std::uint8_t { ready, unscaled, stashed, stepped };
  void set_scale(float scale);

  Context& ctx_;
  GradScalerOptions options_;
  DeviceArray<StepControl> control_;
  std::map<optim::Optimizer*, Stage> stages_;  // of those of this step
};

}  // namespace learn::amp
