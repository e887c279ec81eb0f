#pragma once
#include "framework/backend/context.h"
#include "framework/backend/device_array.h"
#include "framework/backend/ema_options.h"
#include "framework/backend/step_control.h"

namespace learn::backend {

/// average += (1 - d) * (weight - average), both f32 of one shape, d being the decay of update
/// `control.step - options.first_step`: to be called after the optimizer, whose update has been
/// counted. Changes nothing when `control.found_inf` is set. Does not wait. Throws ShapeError,
/// DTypeError, DeviceError.
void ema_update(Context& ctx,
                const Tensor& weight,
                const EmaOptions& options,
                const DeviceArray<StepControl>& control,
                Tensor& average);

}  // namespace learn::backend
