#pragma once
#include "framework/amp/grad_scaler.h"
#include "framework/autograd/tape.h"
#include "framework/core/dtype.h"
#include "framework/nn/model.h"

#include <array>
#include <optional>
#include <string_view>

namespace learn::amp {

/// apex.amp's optimization levels.
struct OptLevel {
  std::string_view name;
  std::string_view help;
  bool half_model;     ///< weights and inputs are halves, predictions are cast to f32
  bool autocast;       ///< operations cast what they are given, by rule
  bool dynamic_scale;  ///< else none
  nn::Masters masters = nn::Masters::f32;
};

inline constexpr std::array kOptLevels{
    OptLevel{"O0", "f32", false, false, false},
    OptLevel{"O1", "f32 weights, operations cast by rule", false, true, true},
    OptLevel{"O2", "half model with f32 masters and f32 batch norm", true, false, true},
    OptLevel{"O3", "half model without masters", true, false, false, nn::Masters::none},
};

struct AmpOptions {
  DType dtype =
      DType::f16;  ///< or bf16, which needs no loss scale and uses one only if it is given
  /// A static scale instead of the level's. O3 does not support one, because it has no f32
  /// gradients to unscale.
  std::optional<float> loss_scale;
  /// How a dynamic scale moves: apex's 2^16 at first, 2000 steps, at most 2^24.
  LossScaleOptions scaling{.growth_interval = 2000, .floor = 0x1p-126F, .ceiling = 0x1p24F};
};

/// A model and its optimizer in a precision, for your own training loop:
///
///     amp::Amp amp = amp::initialize(model, optimizer, "O1");
///     tape.reset();
///     const Var loss = ops::softmax_cross_entropy(amp.forward(tape, x), y, 0);
///     amp.backward(loss);
///     amp.step();
class Amp {
 public:
  /// See `initialize`.
  Amp(nn::Model& model,
      optim::Optimizer& optimizer,
      const OptLevel& level,
      const AmpOptions& options);

  /// Returns the model's prediction in f32, in the tape's mode; restores the tape's autocast state.
  [[nodiscard]] Var forward(Tape& tape, const Tensor& x);
  /// The backward pass of the scaled loss; may be called several times before a step.
  void backward(const Var& loss) { loss.tape().backward(scaler_.scale(loss)); }
  /// Gradients in f32, which can be read or clipped before `step`.
  void unscale() { scaler_.unscale(optimizer_); }
  /// Updates the weights unless a gradient is not finite; then the scale moves.
  void step();

  [[nodiscard]] const OptLevel& level() const noexcept { return level_; }
  [[nodiscard]] GradScaler& scaler() noexcept { return scaler_; }
  [[nodiscard]] optim::Optimizer& optimizer() const noexcept { return optimizer_; }

 private:
  nn::Model& model_;
  optim::Optimizer& optimizer_;
  OptLevel level_;
  DType dtype_;
  GradScaler scaler_;
};

/// Brings model and optimizer into the precision of `opt_level`, "O0" to "O3"; both must outlive
/// the result. Throws UsageError for another level, an optimizer of another model, a loss scale
/// with O3, and as GradScaler does; DTypeError for a dtype that is not half.
[[nodiscard]] Amp initialize(nn::Model& model,
                             optim::Optimizer& optimizer,
                             std::string_view opt_level,
                             const AmpOptions& options = {});

}  // namespace learn::amp
