#pragma once
#include "framework/runtime/context.h"

namespace learn::kernels {

/// Sets every element of `x` to `value`, rounded to its dtype. Any dtype.
void fill(Context& ctx, Tensor& x, double value);

}  // namespace learn::kernels
