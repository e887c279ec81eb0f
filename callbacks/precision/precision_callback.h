#pragma once
#include "framework/core/dtype.h"
#include "framework/core/options/option_table.h"
#include "framework/kernels/common/step_control.h"
#include "framework/learner/callback.h"
#include "framework/learner/precision_state.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace learn::callbacks {

/// Steps skipped in a row that end a training. A dynamic scale has found its place, or its floor,
/// after some 20 of them; a scale that is static can only be wrong.
inline constexpr std::int64_t kMaxSkips = 100;

/// The common base of all half precisions: when they start and end, predictions that are cast to
/// f32 before the loss, and the loss scale of f16. That lives in the control block of the learner's
/// optimizer, so it carries over from fit to fit and is part of a checkpoint, which any other
/// precision can continue (ADR 0020).
///
/// Validation inside a fit, and validate, get_preds and predict outside, run in the precision too.
/// All of it is enqueued on the device.
class PrecisionCallback : public Callback {
 public:
  /// Number of batches between checks for skipped steps on a GPU, so that no batch waits for the
  /// host; it also checks at the end of an epoch. On the CPU it checks after each batch.
  static constexpr std::int64_t kBatchesBetweenLooks = 128;

  [[nodiscard]] int order() const override { return order::kMixedPrecision; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<std::string> claims() const override { return {"set the precision"}; }
  [[nodiscard]] PrecisionState* precision() override { return &state_; }

  void train_begin(Learner& learn) final;
  void validate_begin(Learner& learn) final;
  void loss_begin(Learner& learn) final;
  void backward_begin(Learner& learn) final;
  /// Skipped steps are normal while the scale finds its place. An epoch in which nothing was
  /// learned is not, nor are `max_skips` steps of a fit one after the other, and no smaller scale
  /// can help once it is at its floor: both throw DivergedError then.
  void batch_end(Learner& learn) final;
  void epoch_end(Learner& learn) final;
  void validate_end(Learner& learn) final;
  void train_end(Learner& learn) final;
  void error(Learner& learn, const std::exception& error) final;

 protected:
  /// `what` is the first word of error messages. f16 has a loss scale: that one, or the first by
  /// `first_loss_scale`. Throws UsageError for a dtype that is not half; a scale, or options of it
  /// that are not the `usual` ones, for bf16, which has the range of f32 and needs none; one that
  /// is not positive and finite or not between floor and ceiling; `max_skips` below 1; and as
  /// `kernels::check_loss_scaling`.
  PrecisionCallback(std::string_view what,
                    std::string name,
                    DType dtype,
                    const std::optional<float>& loss_scale,
                    const LossScaleOptions& scaling,
                    const LossScaleOptions& usual,
                    std::int64_t max_skips);
  /// Without a loss scale. Throws UsageError for a dtype that is not half.
  PrecisionCallback(std::string_view what, std::string name, DType dtype);

  /// Has a loss scale.
  [[nodiscard]] bool scaled() const noexcept { return state_.first_scale.has_value(); }
  [[nodiscard]] const std::optional<float>& first_scale() const noexcept {
    return state_.first_scale;
  }
  /// The learner computes in the precision from now on, until `end`.
  virtual void begin(Learner& learn) = 0;
  virtual void end(Learner& learn) = 0;

 private:
  void enter(Learner& learn);
  void leave(Learner& learn);
  void check_row(const StepControl& control, const Learner& learn);
  [[nodiscard]] bool may_fall(const StepControl& control) const;

  PrecisionState state_;
  std::int64_t max_skips_ = kMaxSkips;
  bool entered_ = false;
  std::int64_t epoch_steps_ = 0;  // the control block's counters at the start of this epoch
  std::int64_t epoch_skipped_ = 0;
  std::int64_t fit_skipped_ = 0;  // and of this fit
  std::int64_t batches_since_look_ = 0;
};

/// The batch's x cast to `dtype`, for a model of halves.
void cast_input(Learner& learn, DType dtype);

/// Takes half precision of any kind away from a learner.
void to_fp32(Learner& learn);

/// The first scale unless one is given: 512 if static (fastai's notebook of 2018), else 2^16
/// (fastai 1, torch.amp).
[[nodiscard]] float first_loss_scale(const std::optional<float>& given,
                                     const LossScaleOptions& options);

/// Declares `dtype`.
void declare_half(OptionTable& table, DType& dtype, std::string help);
/// Declares `loss_scale`, the options of how it moves, and `max_skips`.
void declare_loss_scaling(OptionTable& table,
                          std::optional<float>& loss_scale,
                          LossScaleOptions& options,
                          std::int64_t& max_skips);

}  // namespace learn::callbacks
