#pragma once
#include "framework/core/option_table.h"
#include "framework/learner/precision_state.h"

#include <cstdint>
#include <optional>

namespace learn {
class Learner;
}

namespace learn::callbacks {

/// The loss scale of a training in f16, as the callbacks of mixed precision use it. It lives in the
/// control block of the learner's optimizer, so it carries over from fit to fit and is part of a
/// checkpoint.
class LossScaling {
 public:
  /// For the precision of this name. Without a scale: none is used, as in bf16. Throws UsageError
  /// for a scale that is not positive and finite or not between floor and ceiling, and as
  /// `kernels::check_loss_scaling`.
  LossScaling(std::string precision,
              const std::optional<float>& first_scale,
              const LossScaleOptions& options);

  [[nodiscard]] PrecisionState& state() noexcept { return state_; }
  [[nodiscard]] bool used() const noexcept { return state_.first_scale.has_value(); }
  /// At train_begin: the first scale, if this is the first fit; 1 if none is used.
  void begin_fit(Learner& learn);
  /// The scale moves from now on, until `leave`.
  void enter(Learner& learn) const;
  static void leave(Learner& learn);
  /// At backward_begin: the scale is the seed of the backward pass.
  void seed(Learner& learn) const;
  /// At epoch_end. Skipped steps are normal while the scale finds its place. An epoch in which
  /// nothing was learned is not, and no smaller scale can help once it is at its floor: throws
  /// DivergedError then.
  void end_epoch(const Learner& learn);

 private:
  PrecisionState state_;
  std::int64_t epoch_steps_ = 0;  // the control block's counters at the beginning of this epoch
  std::int64_t epoch_skipped_ = 0;
};

/// The first scale unless one is given: 512 if static (fastai's notebook of 2018), else 2^16
/// (fastai 1, torch.amp).
[[nodiscard]] float first_loss_scale(const std::optional<float>& given,
                                     const LossScaleOptions& options);

/// Declares `loss_scale` and the options of how it moves.
void declare_loss_scaling(OptionTable& table,
                          std::optional<float>& loss_scale,
                          LossScaleOptions& options);

}  // namespace learn::callbacks
