#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// Computes y (+)= x converted to y's dtype, rounding to nearest even. Both have floating dtypes
/// and the same shape. f32 to f32 is a copy. Throws ShapeError, DTypeError, DeviceError.
void cast(Context& ctx, const Tensor& x, Tensor& y, GradMode mode = GradMode::overwrite);

}  // namespace learn::kernels
