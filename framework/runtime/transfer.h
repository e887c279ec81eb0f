#pragma once
#include "framework/runtime/context.h"

namespace learn {

/// Copies the bytes, for any dtype. Throws ShapeError or DTypeError unless both agree.
void copy(Context& ctx, const Tensor& x, Tensor& y);

/// A new tensor of `arena` on the context's device with the contents of a host tensor; and back.
/// `to_host` waits for the device; the result is in separate host memory.
[[nodiscard]] Tensor to_device(Context& ctx, Arena& arena, const Tensor& host);
[[nodiscard]] Tensor to_host(Context& ctx, const Tensor& device);

}  // namespace learn
