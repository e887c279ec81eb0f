#pragma once
#include "framework/backend/context.h"

namespace learn::backend {

/// Every element of `x` becomes `value`, rounded to its dtype. Any dtype.
void fill(Context& ctx, Tensor& x, double value);

}  // namespace learn::backend
