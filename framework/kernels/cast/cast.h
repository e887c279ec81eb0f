#pragma once
#include "framework/kernels/common/grad_mode.h"
#include "framework/runtime/context.h"

namespace learn::kernels {

/// y (+)= x converted to y's dtype, rounding to nearest even; floating dtypes, one shape.
/// f32 to f32 is a copy. Throws ShapeError, DTypeError, DeviceError.
void cast(Context& ctx, const Tensor& x, Tensor& y, GradMode mode = GradMode::overwrite);

}  // namespace learn::kernels
