#pragma once
#include "framework/kernels/common/step_control.h"
#include "framework/kernels/step/loss_scale_options.h"
#include "framework/runtime/context.h"
#include "framework/runtime/device_array.h"

/// Operations on a step's control block. All are asynchronous. Every function throws ShapeError,
/// DTypeError, DeviceError.
namespace learn::kernels {

/// Writes `value` to the block.
void write_control(Context& ctx, const StepControl& value, DeviceArray<StepControl>& control);
/// Sets the loss scale and its inverse and resets `clean_steps` to 0. Throws UsageError unless the
/// scale is positive and finite.
void set_loss_scale(Context& ctx, float scale, DeviceArray<StepControl>& control);
/// Copies the loss scale and its inverse from `from` to `to`, so that several optimizers share one
/// scaler.
void share_loss_scale(Context& ctx,
                      const DeviceArray<StepControl>& from,
                      DeviceArray<StepControl>& to);
/// Sets `found_inf` of `to` if `found_inf` of `from` is set.
void collect_found_inf(Context& ctx,
                       const DeviceArray<StepControl>& from,
                       DeviceArray<StepControl>& to);
/// Throws UsageError for invalid options: a growth factor not above 1, a backoff factor not between
/// 0 and 1, a floor not above 0, a ceiling below the floor, an interval or hysteresis below 1.
void check_loss_scaling(const LossScaleOptions& scaling);
/// Also throws UsageError for a scale that is not positive and finite, or that is dynamic and not
/// between floor and ceiling.
void check_loss_scaling(const LossScaleOptions& scaling, float scale);
/// Starts a step: clears `found_inf` and sets `grad_multiplier` to 1.
void begin_step(Context& ctx, DeviceArray<StepControl>& control);
/// Ends a step in one launch. Increments `step`, or `skipped` if `found_inf` is set, and resets
/// `grad_multiplier` to 1. If `found_inf` is set, copies committed to live; otherwise copies live
/// to committed. So the running statistics, both f32 of the same shape, follow the same flag as the
/// weights. Updates the loss scale according to `scaling`. From the overflow number `hysteresis` in
/// a row on, each one multiplies it by `backoff_factor`, but not below `floor`. After
/// `growth_interval` clean steps it is multiplied by `growth_factor`, but not above `ceiling`. A
/// static scale does not change. Throws UsageError as `check_loss_scaling` does.
void end_step(Context& ctx,
              Tensor& live,
              Tensor& committed,
              const LossScaleOptions& scaling,
              DeviceArray<StepControl>& control);

}  // namespace learn::kernels
