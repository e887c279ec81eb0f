#pragma once
#include "framework/backend/context.h"
#include "framework/backend/grad_mode.h"

namespace learn::backend {

/// y (+)= x converted to y's dtype, rounding to nearest even; floating dtypes, one shape.
/// f32 to f32 is a copy. Throws ShapeError, DTypeError, DeviceError.
void cast(Context& ctx, const Tensor& x, Tensor& y, GradMode mode = GradMode::overwrite);

/// The same bytes, for any dtype. Throws ShapeError or DTypeError unless both agree.
void copy(Context& ctx, const Tensor& x, Tensor& y);

/// A new tensor of `arena` on the context's device with the contents of a host tensor; and back.
/// `to_host` waits for the device; the result lives in host memory of its own.
[[nodiscard]] Tensor to_device(Context& ctx, Arena& arena, const Tensor& host);
[[nodiscard]] Tensor to_host(Context& ctx, const Tensor& device);

}  // namespace learn::backend
