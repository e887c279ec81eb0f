#pragma once
#include "framework/kernels/common/step_control.h"
#include "framework/kernels/optim/ema_options.h"
#include "framework/runtime/context.h"
#include "framework/runtime/device_array.h"

namespace learn::kernels {

/// Updates average += (1 - d) * (weight - average). The average is f32, weights are f32, f16 or
/// bf16, and d is the decay of update `control.step - options.first_step`. Call it after the
/// optimizer, which counts the update. Changes nothing if `control.found_inf` is set. Does not
/// wait. Throws ShapeError, DTypeError, DeviceError.
void ema_update(Context& ctx,
                const Tensor& weight,
                const EmaOptions& options,
                const DeviceArray<StepControl>& control,
                Tensor& average);

}  // namespace learn::kernels
