#pragma once
#include "framework/runtime/context.h"

namespace learn::kernels {

/// Sets every element of `x` to `value`, rounded to its dtype. Any dtype.
void fill(Context& ctx, Tensor& x, double value);
/// Returns one f32 element of step memory (1), set to `value`.
[[nodiscard]] Tensor filled(Context& ctx, double value);

}  // namespace learn::kernels
