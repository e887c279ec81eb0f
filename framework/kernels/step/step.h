#pragma once
#include "framework/kernels/common/step_control.h"
#include "framework/kernels/step/loss_scale_options.h"
#include "framework/runtime/context.h"
#include "framework/runtime/device_array.h"

/// Operations on a step's control block. All are asynchronous. Every function throws ShapeError,
/// DTypeError, DeviceError.
namespace learn::kernels {

/// Puts `value` into the block.
void write_control(Context& ctx, const StepControl& value, DeviceArray<StepControl>& control);
/// Sets the loss scale and its inverse; `clean_steps` starts at 0. Throws UsageError unless it is
/// positive and finite.
void set_loss_scale(Context& ctx, float scale, DeviceArray<StepControl>& control);
/// `to` takes the loss scale of `from` and its inverse: one scaler for several optimizers.
void share_loss_scale(Context& ctx,
                      const DeviceArray<StepControl>& from,
                      DeviceArray<StepControl>& to);
/// Sets `found_inf` of `to` if that of `from` is set.
void collect_found_inf(Context& ctx,
                       const DeviceArray<StepControl>& from,
                       DeviceArray<StepControl>& to);
/// Throws UsageError for options that make no sense: a growth factor not above 1, a backoff factor
/// not between 0 and 1, a floor not above 0, a ceiling below it, an interval or hysteresis below 1.
void check_loss_scaling(const LossScaleOptions& scaling);
/// Throws the same errors, and also for a scale that is not positive and finite or, if it is
/// dynamic, not between floor and ceiling.
void check_loss_scaling(const LossScaleOptions& scaling, float scale);
/// Starts a step: clears `found_inf` and sets `grad_multiplier` to 1.
void begin_step(Context& ctx, DeviceArray<StepControl>& control);
/// A step ends, all in one launch. `step`, or `skipped` if `found_inf`, counts up;
/// `grad_multiplier` is 1 again. With `found_inf` live becomes committed again, else committed
/// becomes live: the running statistics, both f32 of one shape, obey the same flag as the weights.
/// The loss scale moves as `scaling` says: from the overflow on that is number `hysteresis` in a
/// row, each multiplies it by `backoff_factor`, not below `floor`; after `growth_interval` clean
/// steps it is multiplied by `growth_factor`, not above `ceiling`; a static scale stays as it is.
/// Throws UsageError as `check_loss_scaling`.
void end_step(Context& ctx,
              Tensor& live,
              Tensor& committed,
              const LossScaleOptions& scaling,
              DeviceArray<StepControl>& control);

}  // namespace learn::kernels
