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

/// Default number of consecutive skipped steps that end a training. A dynamic scale settles, or
/// reaches its floor, after about 20 of them. A static scale that skips this many steps is wrong.
inline constexpr std::int64_t kMaxSkips = 100;

/// Base class of all ways to train in half precision. It switches the precision on and off, casts
/// predictions to f32 before the loss, and manages the loss scale of f16. The scale is part of the
/// control block of the learner's optimizer, so it carries over from fit to fit and is part of a
/// checkpoint, from which any other precision can continue (ADR 0020).
///
/// Validation inside a fit, and validate, get_preds and predict outside, run in the same precision.
/// All of it is enqueued on the device.
class PrecisionCallback : public Callback {
 public:
  /// Number of batches between checks for skipped steps on a GPU, where no batch waits for the
  /// host; it also checks when an epoch ends. On the CPU it checks after each batch.
  static constexpr std::int64_t kBatchesBetweenLooks = 128;

  [[nodiscard]] int order() const override { return order::kMixedPrecision; }
  [[nodiscard]] bool capturable() const override { return true; }
  [[nodiscard]] std::vector<std::string> claims() const override { return {"set the precision"}; }
  [[nodiscard]] PrecisionState* precision() override { return &state_; }

  void train_begin(Learner& learn) final;
  void validate_begin(Learner& learn) final;
  void loss_begin(Learner& learn) final;
  void backward_begin(Learner& learn) final;
  /// Throws DivergedError if the scale cannot fall any further and either an epoch had no update or
  /// `max_skips` consecutive steps of a fit were skipped. Until then skipped steps are normal,
  /// because the scale is settling.
  void batch_end(Learner& learn) final;
  void epoch_end(Learner& learn) final;
  void validate_end(Learner& learn) final;
  void train_end(Learner& learn) final;
  void error(Learner& learn, const std::exception& error) final;

 protected:
  /// `what` starts the error messages. For f16 the loss scale is the given one, or else
  /// `first_loss_scale`. Throws UsageError for a dtype that is not half; for bf16, which has the
  /// range of f32 and needs no scale, with a scale or with scaling options other than the `usual`
  /// ones; for a scale that is not positive and finite or not between floor and ceiling; for
  /// `max_skips` below 1; and as `kernels::check_loss_scaling` does.
  PrecisionCallback(std::string_view what,
                    std::string name,
                    DType dtype,
                    const std::optional<float>& loss_scale,
                    const LossScaleOptions& scaling,
                    const LossScaleOptions& usual,
                    std::int64_t max_skips);
  /// Constructs without a loss scale. Throws UsageError for a dtype that is not half.
  PrecisionCallback(std::string_view what, std::string name, DType dtype);

  /// Returns whether there is a loss scale.
  [[nodiscard]] bool scaled() const noexcept { return state_.first_scale.has_value(); }
  [[nodiscard]] const std::optional<float>& first_scale() const noexcept {
    return state_.first_scale;
  }
  /// Makes the learner compute in this precision until `end`.
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
  std::int64_t fit_skipped_ = 0;  // and at the start of this fit
  std::int64_t batches_since_look_ = 0;
};

/// Casts the batch's x to `dtype`, for a model in half precision.
void cast_input(Learner& learn, DType dtype);

/// Removes half precision of any kind from a learner.
void to_fp32(Learner& learn);

/// Returns the default first scale: 512 if static (fastai's notebook of 2018), else 2^16 (fastai 1,
/// torch.amp).
[[nodiscard]] float first_loss_scale(const std::optional<float>& given,
                                     const LossScaleOptions& options);

/// Declares `dtype`.
void declare_half(OptionTable& table, DType& dtype, std::string help);
/// Declares `loss_scale`, the scaling options, and `max_skips`.
void declare_loss_scaling(OptionTable& table,
                          std::optional<float>& loss_scale,
                          LossScaleOptions& options,
                          std::int64_t& max_skips);

}  // namespace learn::callbacks
