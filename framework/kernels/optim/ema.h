#pragma once
#include "framework/kernels/common/step_control.h"
#include "framework/kernels/optim/ema_options.h"
#include "framework/runtime/context.h"
#include "framework/runtime/device_array.h"

namespace learn::kernels {

/// average += (1 - d) * (weight - average), the average f32, weights f32, f16 or bf16, d being the
/// decay of update `control.step - options.first_step`: to be called after the optimizer, whose
/// update has been counted. Changes nothing when `control.found_inf` is set. Does not wait. Throws
/// ShapeError, DTypeError, DeviceError.
void ema_update(Context& ctx,
                const Tensor& weight,
                const EmaOptions& options,
                const DeviceArray<StepControl>& control,
                Tensor& average);

}  // namespace learn::kernels
