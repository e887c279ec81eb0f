#pragma once
#include "framework/runtime/context.h"

namespace learn {

/// The same bytes, for any dtype. Throws ShapeError or DTypeError unless both agree.
void copy(Context& ctx, const Tensor& x, Tensor& y);

/// A new tensor of `arena` on the context's device with the contents of a host tensor; and back.
/// `to_host` waits for the device; the result lives in host memory of its own.
[[nodiscard]] Tensor to_device(Context& ctx, Arena& arena, const Tensor& host);
[[nodiscard]] Tensor to_host(Context& ctx, const Tensor& device);

}  // namespace learn
