#pragma once
#include "framework/runtime/context.h"

namespace learn::kernels {

/// Every element of `x` becomes `value`, rounded to its dtype. Any dtype.
void fill(Context& ctx, Tensor& x, double value);

}  // namespace learn::kernels
